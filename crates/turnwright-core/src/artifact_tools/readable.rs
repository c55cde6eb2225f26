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
pub(crate) struct Readable(Arc<IndexMap<String, Vec<SpooledArtifact>, RandomState>>);

/// The artifacts that a set of tools can read now. Does not hold a reference to the dispatch.
#[derive(Default)]
pub(super) struct Current(RwLock<Readable>);

impl Current {
    #[cfg(test)]
    pub(super) fn new(readable: Readable) -> Self {
        Current(RwLock::new(readable))
    }

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
        let limited = |handles: &[SpooledArtifact]| {
            let handles = handles.iter().cloned();
            handles.map(|handle| handle.with_limits(limits)).collect()
        };
        let mut all = IndexMap::default();
        let records = ctx.inner().records.read();
        for call in records.of_type::<ToolCall>() {
            if !call.handles().is_empty() {
                all.insert(call.id().to_owned(), limited(call.handles()));
            }
        }
        for found in records.of_type::<Retrievable>() {
            if let Some(handle) = found.handle() {
                let id = found.shown_id().into_owned();
                if all.contains_key(&id) {
                    return Err(collision(&id));
                }
                all.insert(id, limited(std::slice::from_ref(handle)));
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
    pub(crate) fn get(&self, id: &str) -> Option<&[SpooledArtifact]> {
        self.0.get(id).map(Vec::as_slice)
    }

    /// Returns whether an artifact with this id supports the query.
    pub(super) fn answers(&self, query: &Query, id: &str) -> bool {
        let fits = |artifact: &SpooledArtifact| query.fits(artifact.kind());
        self.get(id).is_some_and(|all| all.iter().any(fits))
    }

    /// Iterates over the kinds, in order of first occurrence.
    pub(super) fn kinds(&self) -> impl Iterator<Item = ArtifactKind> {
        self.0.values().flatten().map(SpooledArtifact::kind)
    }

    /// Returns only the artifacts that support the query.
    pub(super) fn for_query(&self, query: &Query) -> Self {
        let all = self.0.iter().filter(|(id, _)| self.answers(query, id));
        let all = all.map(|(id, artifacts)| (id.clone(), artifacts.clone()));
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
