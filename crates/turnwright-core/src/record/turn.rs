//! Turn records.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::builder::Body;
use super::limit::Limit;
use super::stored::{is_default, part, stored};

use crate::error::ErrorCode;
use crate::ids::new_id;
use crate::principal::Principal;
use crate::settings::{Budget, ModelSettings, TurnSettings};
use crate::trust::TrustTier;
use crate::usage::Usage;
use crate::validate::Violations;

stored! {
    StoredTurn as "TurnRecord";
    /// The record of a turn: written when it starts, and again when it is suspended or ends. In the conversation it precedes
    /// everything that the turn stored. Immutable.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct TurnRecord {
        pub(crate) id: Arc<str>,
        /// The state of the turn.
        pub state: TurnState,
        /// Who it acts for, if its input named a principal.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub principal: Option<Principal>,
        /// A random value that distinguishes the idempotency keys of its calls from those of another turn with the same id.
        pub(crate) nonce: Arc<str>,
        /// The stash at the start of the turn.
        #[serde(with = "part", default, skip_serializing_if = "Map::is_empty")]
        pub(crate) stash: Map<String, Value>,
        /// The instructions, model settings and budget of its input.
        #[serde(with = "StoredSettings", default, skip_serializing_if = "is_default")]
        pub(crate) settings: TurnSettings,
        /// The trust tiers of the outer prompt, for a turn that runs under a call and inherits its rules.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) outer_tiers: Option<Vec<TrustTier>>,
        /// Whether the outer prompt contained private data.
        #[serde(default, skip_serializing_if = "is_default")]
        pub(crate) outer_private: bool,
        /// The id of the message that is its answer, once it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub answer: Option<Arc<str>>,
        /// The id of the message that is proposed as its answer and not decided on yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) proposed: Option<Arc<str>>,
        /// The ids of messages that were rejected as its answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) rejected: Vec<Arc<str>>,
        /// How often it was started or resumed.
        pub runs: u32,
        /// Number of iterations, as of the last write.
        pub iterations: u32,
        /// Token usage, as of the last write.
        pub usage: Usage,
        /// Number of tool calls that ran, including those of turns under its calls, as of the last write.
        #[serde(default, skip_serializing_if = "is_default")]
        pub tool_calls: u64,
        /// How long it ran, as of the last write. The time between two runs does not count.
        #[serde(rename = "elapsedMs", with = "part", default, skip_serializing_if = "is_no_millisecond")]
        pub elapsed: Duration,
        /// Why it has no answer, if it ended without one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub error: Option<TurnFailure>,
        /// The step in which it was suspended, if it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) step: Option<u32>,
        /// The ids of the gates at which it waited when it was suspended. If one of them is not open any more, it was answered, and
        /// the turn was not resumed. Empty if the turn can go on without an answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub waits_at: Vec<Arc<str>>,
        /// When it started.
        #[serde(with = "part")]
        pub started_at: SystemTime,
        /// When it ended, if it did.
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        pub ended_at: Option<SystemTime>,
    }
}

fn is_no_millisecond(time: &Duration) -> bool {
    time.as_millis() == 0
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TurnSettings")]
struct StoredSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Arc<str>>,
    #[serde(with = "part", default, skip_serializing_if = "is_default")]
    model: ModelSettings,
    #[serde(with = "StoredBudget", default, skip_serializing_if = "is_default")]
    budget: Budget,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Budget", rename_all = "camelCase")]
struct StoredBudget {
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<u64>,
    #[serde(
        rename = "timeMs",
        with = "part",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    time: Option<Duration>,
}

/// Why a turn has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnFailure {
    /// The error code.
    pub code: String,
    /// The message for operators.
    pub message: String,
    /// What the error code means, for users of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// What ended the turn, if it was not an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
}

/// What ended a turn that did not fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EndReason {
    /// It was aborted or cancelled, for this reason.
    Aborted(String),
    /// It reached a limit.
    Limit(Limit),
}

impl TurnFailure {
    /// Returns the message for users of the application. That of an error may contain addresses, paths and names of functions;
    /// the reason of an abort and the name of a limit are meant for them.
    pub(crate) fn public_message(&self) -> &str {
        self.meaning.as_deref().unwrap_or(&self.message)
    }
}

names! {
    /// The state of a turn.
    ///
    /// ```
    /// use turnwright_core::record::TurnState;
    /// use turnwright_core::store::TurnFilter;
    ///
    /// let filter = TurnFilter::all().state(TurnState::Failed).state(TurnState::Limit).limit(100);
    /// assert_eq!(TurnState::Suspended.as_str(), "suspended");
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[non_exhaustive]
    pub enum TurnState {
        /// The turn is running, or was interrupted because its process ended. The [`Lease`](super::Lease) of the conversation tells
        /// which.
        Running = "running",
        /// The turn has its answer.
        Answered = "answered",
        /// The executor nacked the dispatch.
        Nacked = "nacked",
        /// The turn was aborted or cancelled.
        Aborted = "aborted",
        /// The turn failed.
        Failed = "failed",
        /// The turn reached a limit.
        Limit = "limit",
        /// The turn was interrupted or suspended, and the conversation continued without it.
        Abandoned = "abandoned",
        /// No process is running the turn. It waits for answers at its gates, or to be resumed.
        Suspended = "suspended",
    }
}

impl TurnRecord {
    /// Creates the record of a turn that starts now.
    pub(crate) fn begin(id: Arc<str>, stash: Vec<(String, Value)>) -> Self {
        TurnRecord {
            id,
            state: TurnState::Running,
            principal: None,
            nonce: new_id().into(),
            stash: stash.into_iter().collect(),
            settings: TurnSettings::default(),
            outer_tiers: None,
            outer_private: false,
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
            waits_at: Vec::new(),
            started_at: SystemTime::now(),
            ended_at: None,
        }
    }

    /// Returns the record of the turn, resumed once more.
    pub(crate) fn resumed(&self) -> Self {
        let mut record = self.clone();
        record.state = TurnState::Running;
        record.runs = record.runs.saturating_add(1);
        (record.error, record.ended_at, record.step) = (None, None, None);
        record.waits_at.clear();
        record
    }

    /// Returns the record of the turn, suspended in a step, where it waits at these gates.
    pub(crate) fn suspended(&self, step: u32, waits_at: Vec<Arc<str>>) -> Self {
        let mut record = self.clone();
        (record.state, record.step) = (TurnState::Suspended, Some(step));
        record.waits_at = waits_at;
        record
    }

    /// Returns the record of the turn, ended now.
    pub(crate) fn ended(&self, state: TurnState, error: Option<TurnFailure>) -> Self {
        let mut record = self.clone();
        (record.state, record.error) = (state, error);
        record.waits_at.clear();
        // If the clock was set back, the end must not precede the start.
        record.ended_at = Some(SystemTime::now().max(record.started_at));
        record
    }

    /// Notes that a message was rejected as its answer.
    pub(crate) fn reject(&mut self, message: Option<&Arc<str>>) {
        (self.answer, self.proposed) = (None, None);
        self.rejected.extend(message.cloned());
    }

    /// Returns the turn id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn shared_id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

debug_fields!(TurnRecord { id, state });

impl Body for TurnRecord {
    const NAME: &'static str = "turn";
    const INVALID: ErrorCode = ErrorCode::STORE_ERROR;

    fn check(&mut self, wrong: &mut Violations) {
        wrong.check("id", !self.id.is_empty(), "must not be empty");
        let continues = matches!(self.state, TurnState::Running | TurnState::Suspended);
        let why = "does not match the state";
        wrong.check("endedAt", self.ended_at.is_none() == continues, why);
        self.ended_at = self.ended_at.map(|at| at.max(self.started_at));
    }
}
