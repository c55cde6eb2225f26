//! Gates: points where a turn waits for an external answer.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::checksum::digest_of;

/// A gate where a turn waits or has waited. A resumed turn waits there again, or continues with the recorded answer.
/// Immutable.
#[derive(Clone)]
pub struct GateRecord {
    pub(crate) id: String,
    pub(crate) turn_id: Arc<str>,
    pub(crate) gate_id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) tool_call: Option<Arc<str>>,
    pub(crate) question: Arc<Value>,
    pub(crate) state: GateState,
    pub(crate) opened_at: SystemTime,
    pub(crate) closed_at: Option<SystemTime>,
}

/// The state of a gate.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum GateState {
    /// Not answered yet.
    Open,
    /// Answered with this value.
    Resolved(Value),
    /// Rejected, with the reason.
    Rejected(String),
    /// Closed without an answer: the time was over, or the turn had ended.
    Unanswered,
}

impl GateRecord {
    /// The record's id: a digest of the turn's id and of the gate's id, which is unique in its turn.
    pub(crate) fn id_of(turn_id: &str, gate_id: &str) -> String {
        digest_of(&json!([turn_id, gate_id]))
    }

    /// The same gate, closed now.
    pub(crate) fn closed(&self, state: GateState) -> Arc<Self> {
        let mut record = self.clone();
        record.state = state;
        record.closed_at = Some(SystemTime::now().max(record.opened_at));
        Arc::new(record)
    }

    /// Its id, unique in the conversation.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.turn_id
    }

    /// Which gate of the turn: what an answer names.
    #[must_use]
    pub fn gate_id(&self) -> &str {
        &self.gate_id
    }

    /// What sort of question.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which call waits, where one does.
    #[must_use]
    pub fn tool_call(&self) -> Option<&str> {
        self.tool_call.as_deref()
    }

    /// What is asked.
    #[must_use]
    pub fn question(&self) -> &Value {
        &self.question
    }

    /// What came of it.
    #[must_use]
    pub fn state(&self) -> &GateState {
        &self.state
    }

    /// When it was opened.
    #[must_use]
    pub fn opened_at(&self) -> SystemTime {
        self.opened_at
    }

    /// When it was closed, if it was.
    #[must_use]
    pub fn closed_at(&self) -> Option<SystemTime> {
        self.closed_at
    }
}

impl GateState {
    /// The name under which it is kept.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            GateState::Open => "open",
            GateState::Resolved(_) => "resolved",
            GateState::Rejected(_) => "rejected",
            GateState::Unanswered => "unanswered",
        }
    }
}

impl fmt::Debug for GateRecord {
    /// What is asked and answered may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateRecord")
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for GateState {
    /// What was answered may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
