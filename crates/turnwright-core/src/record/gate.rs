//! Gates: points where a turn waits for an external answer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builder::Body;
use super::stored::{part, stored};
use super::{GateAnswer, GateDecision, GateKind};
use crate::error::ErrorCode;
use crate::validate::Violations;

stored! {
    StoredGate as "GateRecord";
    /// A gate at which a turn waits or has waited. A resumed turn waits there again, or continues with the recorded answer.
    /// Immutable.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct GateRecord {
        pub(crate) id: Arc<str>,
        /// The turn id.
        pub turn_id: Arc<str>,
        /// The kind of gate.
        #[serde(rename = "name", with = "part")]
        pub kind: GateKind,
        /// The id of the call that waits, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tool_call: Option<Arc<str>>,
        /// The question.
        #[serde(with = "part")]
        pub question: Arc<Value>,
        /// The JSON Schema that an answer must match, if the gate has one.
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        pub schema: Option<Arc<Value>>,
        /// How long the gate waits for an answer. `None`: as long as the turn runs.
        #[serde(rename = "timeoutMs", with = "part", default, skip_serializing_if = "Option::is_none")]
        pub timeout: Option<Duration>,
        /// The step in which it was opened, for a gate outside of calls. A resumed turn continues there.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) step: Option<u32>,
        /// Whether it is open, and how it was answered.
        #[serde(with = "StoredGateState")]
        pub state: GateState,
        /// When it was opened.
        #[serde(with = "part")]
        pub opened_at: SystemTime,
        /// When it was closed, if it was.
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        pub closed_at: Option<SystemTime>,
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "GateState", rename_all = "lowercase")]
enum StoredGateState {
    Open,
    #[serde(with = "part")]
    Answered(GateAnswer),
    Unanswered,
}

/// The state of a gate.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum GateState {
    /// Not answered yet.
    Open,
    /// Answered.
    Answered(GateAnswer),
    /// Closed without an answer: it timed out, or its turn ended. A resumed turn may open it again.
    Unanswered,
}

impl GateRecord {
    /// Returns the gate, closed now.
    pub(crate) fn closed(&self, state: GateState) -> Arc<Self> {
        let mut record = self.clone();
        record.state = state;
        record.closed_at = Some(SystemTime::now().max(record.opened_at));
        Arc::new(record)
    }

    /// Returns the gate, open again, because its answer was not accepted.
    pub(crate) fn reopened(&self) -> Self {
        let mut record = self.clone();
        (record.state, record.closed_at) = (GateState::Open, None);
        record
    }

    /// Returns whether its timeout has expired. Then it accepts no answer, and its turn asks again when it is resumed.
    pub(crate) fn is_expired(&self, now: SystemTime) -> bool {
        let waited = now.duration_since(self.opened_at).unwrap_or_default();
        self.timeout.is_some_and(|limit| waited > limit)
    }

    /// Returns the gate id, which is unique in all conversations. Answers refer to it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the recorded answer, if there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&GateAnswer> {
        match &self.state {
            GateState::Answered(answer) => Some(answer),
            GateState::Open | GateState::Unanswered => None,
        }
    }
}

impl Body for GateRecord {
    const NAME: &'static str = "gate";
    const INVALID: ErrorCode = ErrorCode::STORE_ERROR;

    fn check(&mut self, wrong: &mut Violations) {
        wrong.check("id", !self.id.is_empty(), "must not be empty");
        wrong.check("turnId", !self.turn_id.is_empty(), "must not be empty");
        let is_open = self.state == GateState::Open;
        let why = "does not match the state";
        wrong.check("closedAt", self.closed_at.is_none() == is_open, why);
        self.closed_at = self.closed_at.map(|at| at.max(self.opened_at));
    }
}

impl GateState {
    /// Returns the name that is stored.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            GateState::Open => "open",
            GateState::Answered(answer) => match answer.decision {
                GateDecision::Reject { .. } => "rejected",
                _ => "resolved",
            },
            GateState::Unanswered => "unanswered",
        }
    }
}

debug_fields!(GateRecord { id, state });

impl fmt::Debug for GateState {
    /// Omits the answer, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
