//! The handle for answering at the gates of a running turn.

use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::table::{TurnGates, Waiting};
use crate::error::Error;
use crate::record::{GateAnswer, GateKind, GateRecord, rfc3339};

/// A handle to the gates of a running turn. While one of these is held, the turn counts on an answer.
///
/// ```
/// use turnwright_core::{DispatchContext, TurnRunner};
///
/// # async fn answer(runner: TurnRunner) {
/// let turn = runner.start("Pay the bill.");
/// let mut gates = turn.gates();
/// tokio::spawn(async move {
///     while let Some(gate) = gates.next().await {
///         println!("{}: {}", gate.kind, gate.question);
///         // Now, or whenever a person has decided:
///         let _ = gates.approve(&gate.id);
///     }
/// });
/// let outcome = turn.await;
/// # }
/// ```
pub struct Gates {
    turn: TurnGates,
    /// The number of the last gate that this handle returned.
    given: u64,
}

/// A gate where a turn waits, with everything that a user interface shows.
///
/// As JSON: `id`, `name` (the kind), `toolCall`, `question`, `schema` and `openedAt`. The question of an approval is an object with
/// `tool`, `args`, `reason`, `fingerprint` and `argsDigest`.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpenGate {
    /// The gate id, which is unique in all conversations. Answers refer to it.
    pub id: Arc<str>,
    /// The kind of gate.
    #[serde(rename = "name")]
    #[schemars(with = "String")]
    pub kind: GateKind,
    /// The id of the call that waits, if any.
    pub tool_call: Option<Arc<str>>,
    /// The question.
    pub question: Arc<Value>,
    /// The JSON Schema that an answer must match, if the gate has one.
    pub schema: Option<Arc<Value>>,
    /// When it was opened.
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "String")]
    pub opened_at: SystemTime,
}

impl OpenGate {
    /// Returns the name of the tool whose call waits for approval, or became unknown.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.framework_field("tool")?.as_str()
    }

    /// Returns the checked arguments of the call that waits for approval, or became unknown.
    #[must_use]
    pub fn args(&self) -> Option<&Value> {
        self.framework_field("args")
    }

    /// A field of a question that the framework asks. Other questions are the author's own.
    fn framework_field(&self, name: &str) -> Option<&Value> {
        match self.kind {
            GateKind::Approval | GateKind::UnknownCall => self.question.get(name),
            GateKind::Custom(_) => None,
        }
    }

    pub(crate) fn of(id: &Arc<str>, waiting: &Waiting) -> Self {
        OpenGate {
            id: Arc::clone(id),
            kind: waiting.gate.kind.clone(),
            tool_call: waiting.tool_call.clone(),
            question: Arc::clone(&waiting.gate.question),
            schema: waiting.gate.document.clone(),
            opened_at: waiting.opened_at,
        }
    }
}

impl From<&GateRecord> for OpenGate {
    fn from(gate: &GateRecord) -> Self {
        OpenGate {
            id: Arc::clone(&gate.id),
            kind: gate.kind.clone(),
            tool_call: gate.tool_call.clone(),
            question: Arc::clone(&gate.question),
            schema: gate.schema.clone(),
            opened_at: gate.opened_at,
        }
    }
}

impl Gates {
    pub(crate) fn new(turn: TurnGates) -> Self {
        turn.table().add_answerer();
        Gates { turn, given: 0 }
    }

    /// The gates of a turn that could not start.
    pub(crate) fn of_unstarted_turn() -> Self {
        let turn = TurnGates::default();
        turn.end();
        Gates::new(turn)
    }

    /// Returns the gates that are open now.
    #[must_use]
    pub fn open(&self) -> Vec<OpenGate> {
        let open = self.turn.table().open_after(0);
        open.into_iter().map(|(_, gate)| gate).collect()
    }

    /// Returns the next open gate that this handle has not returned yet, and waits for one if there is none.
    ///
    /// Returns `None` once the turn has ended: it was answered, failed or was cancelled, it could not start, or its runtime was
    /// shut down. For a turn that runs under a call, it also returns the gates of the outer turn, and `None` once the inner turn
    /// has ended.
    pub async fn next(&mut self) -> Option<OpenGate> {
        loop {
            let table = Arc::clone(self.turn.table());
            let mut changed = pin!(table.changed.notified());
            // Register before checking, so that no notification is missed.
            changed.as_mut().enable();
            if let Some((number, gate)) = table.open_after(self.given).into_iter().next() {
                self.given = number;
                return Some(gate);
            }
            if self.turn.has_ended() {
                return None;
            }
            changed.await;
        }
    }

    /// Answers at a gate. Returns `false` if the gate is not open (any more): the first answer that a gate accepts counts.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_GATE_RESOLUTION` if the gate does not accept this answer: a decision at a gate that is not an
    /// approval, a value that does not match the schema of the gate, or edited arguments that the tool rejects. The gate stays
    /// open.
    pub fn answer(
        &self,
        id: impl AsRef<str>,
        answer: impl Into<GateAnswer>,
    ) -> Result<bool, Error> {
        self.turn.table().answer(id.as_ref(), answer.into())
    }

    /// Approves the call that waits at this gate: [`Gates::answer`] with [`GateAnswer::approve`].
    ///
    /// # Errors
    /// See [`Gates::answer`].
    pub fn approve(&self, id: impl AsRef<str>) -> Result<bool, Error> {
        self.answer(id, GateAnswer::approve())
    }

    /// Denies the call that waits at this gate: [`Gates::answer`] with [`GateAnswer::deny`].
    ///
    /// # Errors
    /// See [`Gates::answer`].
    pub fn deny(&self, id: impl AsRef<str>, reason: impl Into<String>) -> Result<bool, Error> {
        self.answer(id, GateAnswer::deny(reason))
    }
}

impl Clone for Gates {
    fn clone(&self) -> Self {
        let mut gates = Gates::new(self.turn.clone());
        gates.given = self.given;
        gates
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        self.turn.table().remove_answerer();
    }
}

debug_fields!(Gates { given });

debug_fields!(OpenGate { id, kind });
