//! A turn, as far as it came.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::new_id;
use crate::settings::TurnSettings;
use crate::trust::TrustTier;
use crate::usage::Usage;

/// A turn, as far as it came: written when it begins, and again when it is suspended or ends. Its place in the conversation is before
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
    /// The instructions, model settings and budget of its input.
    pub(crate) settings: TurnSettings,
    /// The tiers of the outer prompt, for a turn that runs under a call and inherits its rules.
    pub(crate) outer_tiers: Option<Vec<TrustTier>>,
    /// The id of the message that is its answer, once it has one.
    pub answer: Option<Arc<str>>,
    /// The id of the message that is proposed as its answer and not decided on yet.
    pub(crate) proposed: Option<Arc<str>>,
    /// The ids of the messages that were rejected as its answer.
    pub(crate) rejected: Vec<Arc<str>>,
    /// How often it was started or resumed.
    pub runs: u32,
    /// The iterations that it took, as far as they were noted.
    pub iterations: u32,
    /// What it used of models, as far as it was noted.
    pub usage: Usage,
    /// The tool calls that it ran, those of turns under its calls included, as far as they were noted.
    pub tool_calls: u64,
    /// How long it ran, as far as it was noted. The time between two runs does not count.
    pub elapsed: Duration,
    /// Why it has no answer, where it ended without one.
    pub error: Option<TurnFailure>,
    /// The step in which it was suspended, if it was.
    pub(crate) step: Option<u32>,
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
    /// It was interrupted or suspended, and the conversation went on without it.
    Abandoned,
    /// No process runs it. It waits for answers at its gates, or to be resumed.
    Suspended,
}

impl TurnRecord {
    /// A turn that begins now.
    pub(crate) fn begin(id: Arc<str>, stash: Vec<(String, Value)>) -> Self {
        TurnRecord {
            id,
            state: TurnState::Running,
            nonce: Some(new_id().into()),
            stash,
            settings: TurnSettings::default(),
            outer_tiers: None,
            answer: None,
            proposed: None,
            rejected: Vec::new(),
            runs: 1,
            iterations: 0,
            usage: Usage::default(),
            tool_calls: 0,
            elapsed: Duration::ZERO,
            error: None,
            step: None,
            began_at: SystemTime::now(),
            ended_at: None,
        }
    }

    /// The same turn, taken up once more.
    pub(crate) fn resumed(&self) -> Self {
        let mut record = self.clone();
        record.state = TurnState::Running;
        record.runs = record.runs.saturating_add(1);
        (record.error, record.ended_at, record.step) = (None, None, None);
        record
    }

    /// The same turn, suspended in a step.
    pub(crate) fn suspended(&self, step: u32) -> Self {
        let mut record = self.clone();
        (record.state, record.step) = (TurnState::Suspended, Some(step));
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

    /// A message was rejected as its answer.
    pub(crate) fn reject(&mut self, message: Option<&Arc<str>>) {
        (self.answer, self.proposed) = (None, None);
        self.rejected.extend(message.cloned());
    }

    /// The turn's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn shared_id(&self) -> Arc<str> {
        Arc::clone(&self.id)
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
    Suspended = "suspended",
});

debug_fields!(TurnRecord { id, state });
