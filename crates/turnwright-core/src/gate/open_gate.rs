//! Gates as they are shown: an open one, those at which a turn waits, and how one was closed.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, ErrorCode};
use crate::principal::Principal;
use crate::record::{GateAnswer, GateDecision, GateKind, GateRecord, rfc3339};
use crate::schema::escape;

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
