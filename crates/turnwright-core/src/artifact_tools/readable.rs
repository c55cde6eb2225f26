//! The artifacts that can be asked at one moment.

use std::sync::Arc;

use ahash::RandomState;
use indexmap::IndexMap;
use parking_lot::RwLock;

use crate::artifact::{ArtifactKind, Query, SpooledArtifact};
use crate::error::{Error, ErrorCode};
use crate::record::{Retrievable, ToolCall};
use crate::schema::{escape, quote};
use crate::tool::context::TurnContext;

/// At most so many ids are told to a model that named a wrong one.
const MOST_LISTED: usize = 30;

/// A snapshot of the artifacts that can be asked, by the id that the model uses for them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readable(Arc<IndexMap<String, Vec<SpooledArtifact>, RandomState>>);

/// What a set of tools can read now. It holds no dispatch.
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
    /// What can be asked in this dispatch now: the handles of its calls, save those of artifact tools, and then of its
    /// retrievables.
    ///
    /// # Errors
    /// `E_ARTIFACT_ID_COLLISION` if a call and a retrievable have the same id.
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

    /// Whether there is nothing to ask.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ids, in the order in which the artifacts came: those of calls first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The artifacts of an id.
    #[must_use]
    pub(crate) fn get(&self, id: &str) -> Option<&[SpooledArtifact]> {
        self.0.get(id).map(Vec::as_slice)
    }

    /// Whether there is something under this id of which a query can be asked.
    pub(super) fn answers(&self, query: &Query, id: &str) -> bool {
        let fits = |artifact: &SpooledArtifact| query.fits(artifact.kind());
        self.get(id).is_some_and(|all| all.iter().any(fits))
    }

    /// The kinds that are there, in the order in which they came.
    pub(super) fn kinds(&self) -> impl Iterator<Item = ArtifactKind> {
        self.0.values().flatten().map(SpooledArtifact::kind)
    }

    /// Those of which a query can be asked.
    pub(super) fn for_query(&self, query: &Query) -> Self {
        let all = self.0.iter().filter(|(id, _)| self.answers(query, id));
        let all = all.map(|(id, artifacts)| (id.clone(), artifacts.clone()));
        Readable(Arc::new(all.collect()))
    }

    /// The message for a model that named an id which cannot be read. It follows the pointer.
    pub(super) fn refusal(&self) -> String {
        if self.is_empty() {
            return "names no result that this tool can read: there is none so far".to_owned();
        }
        let ids = self.ids().take(MOST_LISTED).map(|id| quote(&id.into()));
        let ids = ids.collect::<Vec<_>>().join(", ");
        let more = match self.0.len().saturating_sub(MOST_LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("names no result that this tool can read: it must be one of {ids}{more}")
    }
}

fn collision(id: &str) -> Error {
    let id = escape(id, 80);
    let message =
        format!("a call and a retrievable share the id \"{id}\": give the retrievable another");
    Error::new(ErrorCode::ARTIFACT_ID_COLLISION, message)
}
