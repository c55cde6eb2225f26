//! The artifacts that can be asked at one moment.

use std::sync::Arc;

use indexmap::IndexMap;
use indexmap::map::Entry;

use super::{ArtifactKind, Query, SpooledArtifact};
use crate::dispatch::DispatchContext;
use crate::error::{Error, ErrorCode};
use crate::schema::{escape, quote};

/// At most so many ids are told to a model that named a wrong one.
const MOST_TOLD: usize = 30;

/// A snapshot of the artifacts that can be asked, by the id that the model uses for them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readable(Arc<IndexMap<String, Vec<SpooledArtifact>>>);

impl Readable {
    /// What can be asked in this dispatch now: the handles of its calls, save those of artifact tools, and of its
    /// retrievables.
    ///
    /// # Errors
    /// `E_ARTIFACT_ID_COLLISION` if a call and a retrievable have the same id.
    pub fn of(ctx: &DispatchContext) -> Result<Self, Error> {
        let limits = ctx.artifact_limits();
        let mut all: IndexMap<String, Vec<SpooledArtifact>> = IndexMap::new();
        let mut add = |id: &str, handles: &[SpooledArtifact]| {
            let limited = handles.iter().map(|it| it.clone().with_limits(limits));
            match all.entry(id.to_owned()) {
                Entry::Occupied(_) => Err(Error::new(
                    ErrorCode::ArtifactIdCollision,
                    format!(
                        "a call and a retrievable share the id \"{}\": give the retrievable another",
                        escape(id, 80)
                    ),
                )),
                Entry::Vacant(place) => {
                    place.insert(limited.collect());
                    Ok(())
                }
            }
        };
        for call in ctx.tool_calls() {
            if !call.handles().is_empty() {
                add(call.id(), call.handles())?;
            }
        }
        for found in ctx.retrievables() {
            if let Some(handle) = found.handle() {
                add(found.id(), std::slice::from_ref(handle))?;
            }
        }
        Ok(Readable(Arc::new(all)))
    }

    /// Whether there is nothing to ask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ids, in the order in which the artifacts came.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The artifacts of an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&[SpooledArtifact]> {
        self.0.get(id).map(Vec::as_slice)
    }

    /// The kinds that are there, in the order in which they came.
    pub(super) fn kinds(&self) -> impl Iterator<Item = ArtifactKind> {
        self.0.values().flatten().map(SpooledArtifact::kind)
    }

    /// Those of which a query can be asked.
    pub(super) fn for_query(&self, query: &Query) -> Self {
        let able = |artifacts: &&Vec<SpooledArtifact>| {
            artifacts.iter().any(|artifact| query.fits(artifact.kind()))
        };
        if self.0.values().all(|artifacts| able(&artifacts)) {
            return self.clone();
        }
        let all = self.0.iter().filter(|(_, artifacts)| able(artifacts));
        Readable(Arc::new(
            all.map(|(id, artifacts)| (id.clone(), artifacts.clone()))
                .collect(),
        ))
    }

    /// What a model is told that named an id which cannot be read: to stand after the place.
    pub(super) fn refusal(&self) -> String {
        if self.is_empty() {
            return "names no result that this tool can read: there is none so far".to_owned();
        }
        let told: Vec<String> = self
            .ids()
            .take(MOST_TOLD)
            .map(|id| quote(&id.into()))
            .collect();
        let more = match self.0.len().saturating_sub(MOST_TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let told = told.join(", ");
        format!("names no result that this tool can read: it must be one of {told}{more}")
    }
}
