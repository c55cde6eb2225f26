//! A turn, as far as it came.

use std::fmt;
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
pub struct TurnRecord {
    pub(crate) id: Arc<str>,
    pub(crate) state: TurnState,
    /// Random: tells the idempotency keys of its calls from those of another turn that had the same name. Turns of earlier
    /// releases have none.
    pub(crate) nonce: Option<Arc<str>>,
    /// What stood in the stash when it began.
    pub(crate) stash: Vec<(String, Value)>,
    /// The tiers of the outer prompt, for a turn that runs under a call and inherits its rules.
    pub(crate) outer_tiers: Option<Vec<TrustTier>>,
    /// The message that was its answer, if it came so far.
    pub(crate) answer: Option<Arc<str>>,
    pub(crate) runs: u32,
    pub(crate) iterations: u32,
    pub(crate) usage: Usage,
    pub(crate) error: Option<TurnFailure>,
    pub(crate) began_at: SystemTime,
    pub(crate) ended_at: Option<SystemTime>,
}

/// Why a turn has no answer.
#[derive(Clone, PartialEq, Eq)]
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
    /// Its dispatch was refused.
    Refused,
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
    pub(crate) fn again(&self) -> Self {
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

    /// How far it is.
    #[must_use]
    pub fn state(&self) -> TurnState {
        self.state
    }

    /// The id of the message that was its answer, once it has one.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    /// How often it was begun or taken up again.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// The iterations that it took, as far as they were noted.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// What it used of models, as far as it was noted.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Why it has no answer, where it ended without one.
    #[must_use]
    pub fn error(&self) -> Option<&TurnFailure> {
        self.error.as_ref()
    }

    /// When it began.
    #[must_use]
    pub fn began_at(&self) -> SystemTime {
        self.began_at
    }

    /// When it ended, if it did.
    #[must_use]
    pub fn ended_at(&self) -> Option<SystemTime> {
        self.ended_at
    }
}

impl TurnState {
    /// Every state.
    pub const ALL: &[TurnState] = &[
        TurnState::Running,
        TurnState::Answered,
        TurnState::Refused,
        TurnState::Aborted,
        TurnState::Failed,
        TurnState::Limit,
        TurnState::Abandoned,
    ];

    /// The state of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let named = |state: &TurnState| state.as_str() == name;
        TurnState::ALL.iter().copied().find(named)
    }

    /// The name under which it is kept.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TurnState::Running => "running",
            TurnState::Answered => "answered",
            TurnState::Refused => "refused",
            TurnState::Aborted => "aborted",
            TurnState::Failed => "failed",
            TurnState::Limit => "limit",
            TurnState::Abandoned => "abandoned",
        }
    }
}

impl fmt::Debug for TurnRecord {
    /// The stash may hold secrets: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRecord")
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TurnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
