//! Gates: points where a turn waits for an external answer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{GateAnswer, GateKind};

/// A gate where a turn waits or has waited. A resumed turn waits there again, or continues with the recorded answer.
/// Immutable.
#[derive(Clone)]
#[non_exhaustive]
pub struct GateRecord {
    pub(crate) id: Arc<str>,
    /// The turn.
    pub turn_id: Arc<str>,
    /// What it asks for.
    pub kind: GateKind,
    /// The call that waits, if one does.
    pub tool_call: Option<Arc<str>>,
    /// The question.
    pub question: Arc<Value>,
    /// The JSON Schema that an answer must match, if the gate has one.
    pub schema: Option<Arc<Value>>,
    /// How long the gate waits for an answer. `None`: for as long as the turn.
    pub timeout: Option<Duration>,
    /// The step of the turn in which it was opened, for a gate outside of calls: a resumed turn continues there.
    pub(crate) step: Option<u32>,
    /// Whether it is open, and how it was answered.
    pub state: GateState,
    /// When it was opened.
    pub opened_at: SystemTime,
    /// When it was closed, if it was.
    pub closed_at: Option<SystemTime>,
}

/// The state of a gate.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum GateState {
    /// Not answered yet.
    Open,
    /// Answered.
    Answered(GateAnswer),
    /// Closed without an answer: its time was over, or its turn had ended.
    Unanswered,
}

impl GateRecord {
    /// The same gate, closed now.
    pub(crate) fn closed(&self, state: GateState) -> Arc<Self> {
        let mut record = self.clone();
        record.state = state;
        record.closed_at = Some(SystemTime::now().max(record.opened_at));
        Arc::new(record)
    }

    /// The same gate, open again: its answer is not taken.
    pub(crate) fn reopened(&self) -> Self {
        let mut record = self.clone();
        (record.state, record.closed_at) = (GateState::Open, None);
        record
    }

    /// The gate's id, unique in the conversation: what an answer names.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The recorded answer, if there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&GateAnswer> {
        match &self.state {
            GateState::Answered(answer) => Some(answer),
            GateState::Open | GateState::Unanswered => None,
        }
    }
}

impl GateState {
    /// The name under which it is stored.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            GateState::Open => "open",
            GateState::Answered(GateAnswer::Reject { .. }) => "rejected",
            GateState::Answered(_) => "resolved",
            GateState::Unanswered => "unanswered",
        }
    }
}

debug_fields!(GateRecord { id, state });

impl fmt::Debug for GateState {
    /// An answer may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
