//! Gates: points where a turn waits for an external answer.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::checksum::digest_of;

/// A gate where a turn waits or has waited. A resumed turn waits there again, or continues with the recorded answer.
/// Immutable.
#[derive(Clone)]
#[non_exhaustive]
pub struct GateRecord {
    pub(crate) id: String,
    /// The turn.
    pub turn_id: Arc<str>,
    /// Which gate of the turn: what an answer names.
    pub gate_id: Arc<str>,
    /// What sort of question.
    pub name: Arc<str>,
    /// Which call waits, where one does.
    pub tool_call: Option<Arc<str>>,
    /// What is asked.
    pub question: Arc<Value>,
    /// What came of it.
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

debug_fields!(GateRecord { id, state });

impl fmt::Debug for GateState {
    /// What was answered may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
