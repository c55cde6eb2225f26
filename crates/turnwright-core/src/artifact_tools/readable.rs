//! The artifacts that can be asked at one moment.

use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::RwLock;

use crate::artifact::{ArtifactKind, Query, SpooledArtifact};
use crate::error::{Error, ErrorCode};
use crate::record::{Retrievable, ToolCall, digest_id};
use crate::record_log::{self, Seen};
use crate::schema::{escape, quote};
use crate::tool::context::TurnContext;

/// At most so many ids are told to a model that named a wrong one.
const MOST_TOLD: usize = 30;

/// A snapshot of the artifacts that can be asked, by the id that the model uses for them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readable(Arc<IndexMap<String, Vec<SpooledArtifact>>>);

/// How far the records of a dispatch were looked at.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Horizon {
    calls: Seen,
    retrievables: Seen,
}

/// The records that came, were replaced or went since.
pub(super) struct Unseen {
    calls: record_log::Unseen<ToolCall>,
    retrievables: record_log::Unseen<Retrievable>,
}

impl Horizon {
    pub(super) fn look(self, ctx: &TurnContext) -> Unseen {
        Unseen {
            calls: ctx.tool_calls_since(self.calls),
            retrievables: ctx.retrievables_since(self.retrievables),
        }
    }
}

impl Unseen {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.retrievables.is_empty()
    }

    /// How far that is.
    pub(super) fn until(&self) -> Horizon {
        Horizon {
            calls: self.calls.until,
            retrievables: self.retrievables.until,
        }
    }
}

/// What can be read under an id from now on: nothing, if there is none.
pub(super) struct News {
    id: String,
    artifacts: Vec<SpooledArtifact>,
}

/// What a set of tools can read now. It holds no dispatch.
#[derive(Default)]
pub(super) struct Current(RwLock<Readable>);

impl Current {
    pub(super) fn new(readable: Readable) -> Self {
        Current(RwLock::new(readable))
    }

    pub(super) fn now(&self) -> Readable {
        self.0.read().clone()
    }

    pub(super) fn set(&self, readable: Readable) {
        let _before = std::mem::replace(&mut *self.0.write(), readable);
    }

    pub(super) fn learn(&self, news: Vec<News>) {
        if !news.is_empty() {
            // What went ends after the lock: that may be foreign code.
            let _gone = self.0.write().learn(news);
        }
    }
}

impl News {
    pub(super) fn kinds(&self) -> impl Iterator<Item = ArtifactKind> {
        self.artifacts.iter().map(SpooledArtifact::kind)
    }
}

impl Readable {
    /// What can be asked in this dispatch now: the handles of its calls, save those of artifact tools, and of its
    /// retrievables.
    ///
    /// # Errors
    /// `E_ARTIFACT_ID_COLLISION` if a call and a retrievable have the same id.
    pub fn of(ctx: &TurnContext) -> Result<Self, Error> {
        let mut all = Readable::default();
        let news = all.news(ctx, &Horizon::default().look(ctx))?;
        all.learn(news);
        Ok(all)
    }

    /// What these records change for this snapshot. Those that were never readable and are not now do not count.
    ///
    /// # Errors
    /// `E_ARTIFACT_ID_COLLISION` if a call and a retrievable have the same id.
    pub(super) fn news(&self, ctx: &TurnContext, unseen: &Unseen) -> Result<Vec<News>, Error> {
        let mut news = Vec::new();
        // What can be read under an id is asked anew on both sides: either record may have been replaced.
        let calls = unseen.calls.records.iter().map(|call| call.id());
        let calls = calls.chain(unseen.calls.gone.iter().map(|id| &**id));
        for id in calls {
            news.extend(self.news_of(ctx, id, id)?);
        }
        let found = unseen.retrievables.records.iter().map(|found| found.id());
        let found = found.chain(unseen.retrievables.gone.iter().map(|id| &**id));
        for id in found {
            // Its tier may have been another before, and so may the id by which it was shown.
            for shown in [id, &digest_id(id)] {
                news.extend(self.news_of(ctx, shown, id)?);
            }
        }
        Ok(news)
    }

    /// What the call of this id and the retrievable that is shown by it change.
    fn news_of(
        &self,
        ctx: &TurnContext,
        id: &str,
        of_retrievable: &str,
    ) -> Result<Option<News>, Error> {
        let (call, found) = (ctx.tool_call(id), ctx.retrievable(of_retrievable));
        let of_call = call.as_ref().map_or(&[][..], |call| call.handles());
        let found = found.as_ref().filter(|found| found.shown_id() == id);
        let handles = match (of_call, found.and_then(|found| found.handle())) {
            ([], None) if self.0.contains_key(id) => &[],
            ([], None) => return Ok(None),
            ([], Some(found)) => std::slice::from_ref(found),
            (of_call, None) => of_call,
            (_, Some(_)) => {
                return Err(Error::new(
                    ErrorCode::ArtifactIdCollision,
                    format!(
                        "a call and a retrievable share the id \"{}\": give the retrievable another",
                        escape(id, 80)
                    ),
                ));
            }
        };
        let limits = ctx.artifact_limits();
        let limited = handles.iter().map(|it| it.clone().with_limits(limits));
        Ok(Some(News {
            id: id.to_owned(),
            artifacts: limited.collect(),
        }))
    }

    /// Takes in what changed, and gives what went. Nothing is copied, unless somebody holds this snapshot.
    pub(super) fn learn(&mut self, news: Vec<News>) -> Vec<Vec<SpooledArtifact>> {
        let all = Arc::make_mut(&mut self.0);
        let learnt =
            news.into_iter()
                .filter_map(|News { id, artifacts }| match artifacts.is_empty() {
                    true => all.shift_remove(&id),
                    false => all.insert(id, artifacts),
                });
        learnt.collect()
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

    #[cfg(test)]
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
