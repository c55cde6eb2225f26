//! How somebody outside of a turn answers.

use std::pin::pin;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::table::{Settling, TurnGates, Waiting};
use crate::error::Error;
use crate::gate::Approval;
use crate::schema::Schema;

/// The gates of a turn, for whoever answers. While one of these is held, somebody could answer.
///
/// ```
/// use turnwright_core::{DispatchContext, TurnRunner};
///
/// # async fn answer(runner: TurnRunner) {
/// let turn = runner.start("Pay the bill.");
/// let mut gates = turn.gates();
/// tokio::spawn(async move {
///     while let Some(gate) = gates.next().await {
///         println!("{}: {}", gate.name, gate.question);
///         // Now, or whenever a person has decided:
///         let _ = gates.approve(&gate.id);
///     }
/// });
/// let outcome = turn.await;
/// # }
/// ```
pub struct Gates {
    turn: TurnGates,
    /// The number of the last gate that this one returned.
    given: u64,
}

/// A gate where a turn waits.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpenGate {
    /// Which gate: what an answer names.
    pub id: Arc<str>,
    /// What sort of question.
    pub name: Arc<str>,
    /// Which call waits, where one does.
    pub tool_call: Option<Arc<str>>,
    /// What is asked.
    pub question: Arc<Value>,
    /// What an answer must be, where that was said.
    #[serde(serialize_with = "document")]
    pub schema: Option<Schema>,
}

fn document<S: Serializer>(schema: &Option<Schema>, to: S) -> Result<S::Ok, S::Error> {
    schema.as_ref().map(Schema::document).serialize(to)
}

impl OpenGate {
    pub(crate) fn of(id: &Arc<str>, waiting: &Waiting) -> Self {
        OpenGate {
            id: Arc::clone(id),
            name: Arc::clone(&waiting.gate.name),
            tool_call: waiting.tool_call.clone(),
            question: Arc::clone(&waiting.gate.question),
            schema: waiting.gate.schema.clone(),
        }
    }
}

impl Gates {
    pub(crate) fn new(turn: TurnGates) -> Self {
        turn.table().add_answerer();
        Gates { turn, given: 0 }
    }

    /// The gates of a turn that never began.
    pub(crate) fn of_unbegun() -> Self {
        let turn = TurnGates::default();
        turn.end();
        Gates::new(turn)
    }

    /// The gates that are open now.
    #[must_use]
    pub fn open(&self) -> Vec<OpenGate> {
        let open = self.turn.table().open_after(0);
        open.into_iter().map(|(_, gate)| gate).collect()
    }

    /// Returns the next open gate that this handle has not returned yet, and waits for one if there is none.
    ///
    /// Returns `None` once the turn has ended, in whatever way: it was answered, failed or cancelled, it could not be
    /// begun, or its runtime was shut down. For a turn that runs under a call it also returns the gates of the outer turn,
    /// and `None` once the inner turn has ended.
    pub async fn next(&mut self) -> Option<OpenGate> {
        loop {
            let table = Arc::clone(self.turn.table());
            let mut changed = pin!(table.changed.notified());
            // Listening begins before looking, so that nothing is missed in between.
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

    /// Answers. The first answer that the gate takes counts; `false` if it is not open, or no longer.
    ///
    /// # Errors
    /// `E_INVALID_TURN_GATE_RESOLUTION` if the gate does not take this answer: it stays open.
    pub fn resolve(&self, id: &str, answer: impl Into<Value>) -> Result<bool, Error> {
        self.turn
            .table()
            .settle(id, Settling::Resolved(answer.into()))
    }

    /// Rejects the request. `false` if the gate is not open, or no longer.
    pub fn reject(&self, id: &str, reason: impl Into<String>) -> bool {
        let settled = self
            .turn
            .table()
            .settle(id, Settling::Rejected(reason.into()));
        settled.unwrap_or(false)
    }

    /// Approves a call that waits at this gate, with the arguments that it asked for.
    ///
    /// # Errors
    /// As [`Gates::resolve`]: the gate is none of an approval.
    pub fn approve(&self, id: &str) -> Result<bool, Error> {
        self.resolve(id, Approval::Granted.into_answer())
    }

    /// Denies a call that waits at this gate. The model reads the reason.
    ///
    /// # Errors
    /// As [`Gates::approve`].
    pub fn deny(&self, id: &str, reason: impl Into<String>) -> Result<bool, Error> {
        let reason = reason.into();
        self.resolve(id, Approval::Denied { reason }.into_answer())
    }

    /// Approves a call that waits at this gate, with other arguments, which are checked in full.
    ///
    /// # Errors
    /// As [`Gates::approve`].
    pub fn approve_edited(&self, id: &str, args: impl Into<Value>) -> Result<bool, Error> {
        self.resolve(id, Approval::Edited(args.into()).into_answer())
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

debug_fields!(OpenGate { id, name });
