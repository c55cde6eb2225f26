//! The open gates of a turn as its callers see them: the handle for answering, what is shown, and how a gate was closed.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::table::{TurnGates, Waiting};
use crate::error::{Error, ErrorCode};
use crate::principal::Principal;
use crate::record::{GateAnswer, GateDecision, GateKind, GateRecord, rfc3339};
use crate::schema::escape;

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
    /// Whether another process or another runner runs the turn.
    elsewhere: bool,
}

/// A gate where a turn waits, with everything that a user interface shows.
///
/// As JSON: `id`, `name` (the kind), `toolCall`, `question`, `schema` and `openedAt`. The question of an approval is an object with
/// `tool`, `args` and `reason`, and if it applies `outerTools`, `sources` (why the prompt is untrusted or private) and `notBy`. The
/// gate id is bound to the fingerprint of the tool and the digest of the arguments.
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
        Gates {
            turn,
            given: 0,
            elsewhere: false,
        }
    }

    /// The gates of a turn that another process or another runner runs. They cannot be answered with this handle.
    pub(crate) fn elsewhere() -> Self {
        let mut gates = Gates::new(TurnGates::ended());
        gates.elsewhere = true;
        gates
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
    /// shut down. Also for a turn that another process or another runner runs: its gates are events of the stream. For a turn
    /// that runs under a call, it also returns the gates of the outer turn, and `None` once the inner turn has ended.
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
    /// open. Returns `E_TURN_HELD` if another process or another runner runs the turn:
    /// [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate) answers there.
    pub fn answer(
        &self,
        id: impl AsRef<str>,
        answer: impl Into<GateAnswer>,
    ) -> Result<bool, Error> {
        if self.elsewhere {
            let message = "another process or another runner runs the turn, and this handle only follows it: answer with \
                           `TurnRunner::answer_gate`";
            return Err(Error::new(ErrorCode::TURN_HELD, message));
        }
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
        gates.elsewhere = self.elsewhere;
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

/// A turn that is suspended or waits in memory, and the gates at which it waits. The source of `E_TURN_WAITING`.
///
/// ```
/// use turnwright_core::Error;
/// use turnwright_core::gate::TurnWaiting;
///
/// fn show(error: &Error) {
///     if let Some(waiting) = error.find_cause::<TurnWaiting>() {
///         println!("turn {} waits for {} answers", waiting.turn_id, waiting.gates.len());
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnWaiting {
    /// The conversation id.
    pub conversation: Arc<str>,
    /// The turn id.
    pub turn_id: Arc<str>,
    /// The open gates. Empty if every gate was answered, or if the turn was suspended between two iterations. Then it only has to
    /// be resumed.
    pub gates: Vec<OpenGate>,
}

impl TurnWaiting {
    /// Converts to an error with advice.
    pub(crate) fn into_error(self, what_to_do: &str) -> Error {
        let message = format!("{self}: {what_to_do}");
        Error::new(ErrorCode::TURN_WAITING, message).with_source(self)
    }
}

impl fmt::Display for TurnWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = escape(&self.turn_id, 80);
        match &*self.gates {
            [] => write!(
                f,
                "the turn `{turn}` is suspended, no gate is open, and it was not resumed"
            ),
            [only] => write!(f, "the turn `{turn}` waits at the gate `{}`", only.id),
            several => write!(f, "the turn `{turn}` waits at {} gates", several.len()),
        }
    }
}

impl std::error::Error for TurnWaiting {}

/// How a gate was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
#[non_exhaustive]
pub enum GateEnd {
    /// It was answered.
    Resolved,
    /// The answer was no.
    Rejected,
    /// No answer came within its timeout.
    TimedOut,
    /// The turn ended first, or no one could answer.
    Aborted,
}

names!(GateEnd {
    Resolved = "resolved",
    Rejected = "rejected",
    TimedOut = "timedOut",
    Aborted = "aborted",
});

/// How a gate was closed, and who answered. The fields are those of the event.
#[derive(Clone)]
pub(crate) struct GateClosed {
    pub(crate) how: GateEnd,
    pub(crate) by: Option<Principal>,
    pub(crate) note: Option<String>,
}

impl GateClosed {
    pub(crate) fn of(answer: &GateAnswer) -> Self {
        GateClosed {
            how: match answer.decision {
                GateDecision::Reject { .. } => GateEnd::Rejected,
                _ => GateEnd::Resolved,
            },
            by: answer.by.clone(),
            note: answer.note.clone(),
        }
    }

    pub(crate) fn aborted() -> Self {
        GateClosed {
            how: GateEnd::Aborted,
            by: None,
            note: None,
        }
    }
}
