//! The artifacts that can be read at one moment.

use std::sync::Arc;

use ahash::RandomState;
use indexmap::IndexMap;
use parking_lot::RwLock;

use crate::artifact::{ArtifactKind, Query, SpooledArtifact};
use crate::error::{Error, ErrorCode};
use crate::record::{Retrievable, ToolCall};
use crate::schema::{escape, quote};
use crate::tool::context::TurnContext;

/// Maximum number of ids listed in the error for an unknown id.
const MAX_LISTED: usize = 30;

/// A snapshot of the readable artifacts, by the id that the model uses for them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readable(Arc<IndexMap<String, Source, RandomState>>);

/// The artifacts of a record. They can be read as long as the snapshot exists, also if the turn no longer has the record.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(super) artifacts: Vec<SpooledArtifact>,
    /// Whether they contain private data.
    pub(super) private: bool,
}

/// The artifacts that a set of tools can read now. Does not hold a reference to the dispatch.
#[derive(Default)]
pub(super) struct Current(RwLock<Readable>);

impl Current {
    pub(super) fn now(&self) -> Readable {
        self.0.read().clone()
    }

    pub(super) fn set(&self, readable: Readable) {
        let _before = std::mem::replace(&mut *self.0.write(), readable);
    }
}

impl Readable {
    /// Takes a snapshot of a dispatch: the artifacts of its calls, except calls of artifact tools, then those of its
    /// retrievables.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_ID_COLLISION` if a call and a retrievable have the same id.
    pub(crate) fn of(ctx: &TurnContext) -> Result<Self, Error> {
        let limits = ctx.artifact_limits();
        let source = |handles: &[SpooledArtifact], private: bool| {
            let handles = handles.iter().cloned();
            let artifacts = handles.map(|handle| handle.with_limits(limits)).collect();
            Source { artifacts, private }
        };
        let mut all = IndexMap::default();
        let records = ctx.journal().records();
        for call in records.of_type::<ToolCall>() {
            if !call.handles().is_empty() {
                // A result may repeat the arguments, which the model wrote.
                let private = call.is_private() || call.exposure().private;
                all.insert(call.id().to_owned(), source(call.handles(), private));
            }
        }
        for found in records.of_type::<Retrievable>() {
            if let Some(handle) = found.handle() {
                let id = found.shown_id().into_owned();
                if all.contains_key(&id) {
                    return Err(collision(&id));
                }
                let handles = std::slice::from_ref(handle);
                all.insert(id, source(handles, found.is_private()));
            }
        }
        Ok(Readable(Arc::new(all)))
    }

    /// Returns whether there are no readable artifacts.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the ids in order of creation. Calls come first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the artifacts with an id.
    #[must_use]
    pub(super) fn source(&self, id: &str) -> Option<&Source> {
        self.0.get(id)
    }

    /// Returns whether an artifact with this id supports the query.
    pub(super) fn answers(&self, query: &Query, id: &str) -> bool {
        let fits = |artifact: &SpooledArtifact| query.fits(artifact.kind());
        let source = self.source(id);
        source.is_some_and(|source| source.artifacts.iter().any(fits))
    }

    /// Iterates over the kinds, in order of first occurrence.
    pub(super) fn kinds(&self) -> impl Iterator<Item = ArtifactKind> {
        let artifacts = self.0.values().flat_map(|source| &source.artifacts);
        artifacts.map(SpooledArtifact::kind)
    }

    /// Returns only the artifacts that support the query.
    pub(super) fn for_query(&self, query: &Query) -> Self {
        let all = self.0.iter().filter(|(id, _)| self.answers(query, id));
        let all = all.map(|(id, source)| (id.clone(), source.clone()));
        Readable(Arc::new(all.collect()))
    }

    /// The error message for an unknown id. It follows the JSON pointer.
    pub(super) fn refusal(&self) -> String {
        if self.is_empty() {
            return "is not a result that this tool can read: there are none yet".to_owned();
        }
        let ids = self.ids().take(MAX_LISTED).map(|id| quote(&id.into()));
        let ids = ids.collect::<Vec<_>>().join(", ");
        let more = match self.0.len().saturating_sub(MAX_LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("is not a result that this tool can read: it must be one of {ids}{more}")
    }
}

fn collision(id: &str) -> Error {
    let id = escape(id, 80);
    let message = format!(
        "a call and a retrievable both have the id \"{id}\": give the retrievable a different id"
    );
    Error::new(ErrorCode::ARTIFACT_ID_COLLISION, message)
}
