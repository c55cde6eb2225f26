//! A turn, as far as it came.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::new_id;
use crate::trust::TrustTier;
use crate::usage::Usage;

/// A turn, as far as it came: written when it begins, and again when it ends. Its place in the conversation is before
/// everything that the turn stored. Immutable.
#[derive(Clone)]
#[non_exhaustive]
pub struct TurnRecord {
    pub(crate) id: Arc<str>,
    /// How far it is.
    pub state: TurnState,
    /// Random: tells the idempotency keys of its calls from those of another turn that had the same name. Turns of earlier
    /// releases have none.
    pub(crate) nonce: Option<Arc<str>>,
    /// What stood in the stash when it began.
    pub(crate) stash: Vec<(String, Value)>,
    /// The tiers of the outer prompt, for a turn that runs under a call and inherits its rules.
    pub(crate) outer_tiers: Option<Vec<TrustTier>>,
    /// The id of the message that was its answer, once it has one.
    pub answer: Option<Arc<str>>,
    /// How often it was started or resumed.
    pub runs: u32,
    /// The iterations that it took, as far as they were noted.
    pub iterations: u32,
    /// What it used of models, as far as it was noted.
    pub usage: Usage,
    /// Why it has no answer, where it ended without one.
    pub error: Option<TurnFailure>,
    /// When it began.
    pub began_at: SystemTime,
    /// When it ended, if it did.
    pub ended_at: Option<SystemTime>,
}

/// Why a turn has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnFailure {
    /// The stable code.
    pub code: String,
    /// What was said to the operator.
    pub message: String,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TurnState {
    /// It runs, or was cut off by the end of its process: the conversation's [`Lease`](super::Lease) says which.
    Running,
    /// It has its answer.
    Answered,
    /// The executor nacked the dispatch.
    #[serde(alias = "refused")]
    Nacked,
    /// It was aborted, or called off from outside.
    Aborted,
    /// It could not go on.
    Failed,
    /// It came to a limit.
    Limit,
    /// It was cut off, and the conversation went on without it.
    Abandoned,
}

impl TurnRecord {
    /// A turn that begins now.
    pub(crate) fn begin(id: Arc<str>, stash: Vec<(String, Value)>) -> Self {
        TurnRecord {
            id,
            state: TurnState::Running,
            nonce: Some(new_id().into()),
            stash,
            outer_tiers: None,
            answer: None,
            runs: 1,
            iterations: 0,
            usage: Usage::default(),
            error: None,
            began_at: SystemTime::now(),
            ended_at: None,
        }
    }

    /// The same turn, taken up once more.
    pub(crate) fn resumed(&self) -> Self {
        let mut record = self.clone();
        record.state = TurnState::Running;
        record.runs = record.runs.saturating_add(1);
        (record.error, record.ended_at) = (None, None);
        record
    }

    /// The same turn, ended now.
    pub(crate) fn ended(&self, state: TurnState, error: Option<TurnFailure>) -> Self {
        let mut record = self.clone();
        (record.state, record.error) = (state, error);
        // A clock that was set back does not end a turn before it began.
        record.ended_at = Some(SystemTime::now().max(record.began_at));
        record
    }

    /// The turn's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

names!(TurnState {
    Running = "running",
    Answered = "answered",
    Nacked = "nacked",
    Aborted = "aborted",
    Failed = "failed",
    Limit = "limit",
    Abandoned = "abandoned",
});

debug_fields!(TurnRecord { id, state });
