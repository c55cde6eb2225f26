//! The events on the stream of a turn.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Compacted;
use super::time::{as_millis, rfc3339};
use crate::error::Error;
use crate::gate::{OpenGate, TurnWaiting};
use crate::outcome::{TurnHeld, TurnOutcome};
use crate::principal::Principal;
use crate::record::{Message, Record, Thought, ToolCall, TurnState};
use crate::schema::Repair;
use crate::usage::{ModelUsage, Usage};

/// An event on the stream of a turn.
///
/// Serialised as an object: `event` is the name of the kind, `time` is RFC 3339 text, and the fields of the kind follow. A record
/// has its public form (see [`Record`]), so that events can be forwarded to clients. The book lists the names and has types for
/// TypeScript.
#[derive(Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct TurnEvent {
    /// When it happened.
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "String")]
    pub time: SystemTime,
    /// What happened.
    #[serde(flatten)]
    pub kind: TurnEventKind,
}

/// What happened: the pieces of texts, the records that they become, and the course of the turn.
///
/// [`Started`](Self::Started) comes first and [`Ended`](Self::Ended) last, even for a turn that could not start. The concatenated
/// deltas of an id are the text of the record with that id.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum TurnEventKind {
    /// The turn has started. Always the first event.
    #[non_exhaustive]
    Started {
        /// The turn id.
        turn_id: Arc<str>,
        /// The conversation id. A generated id if the input named none.
        conversation_id: Arc<str>,
        /// Whether the turn existed before and is resumed.
        resumed: bool,
    },
    /// A piece of a message of the model.
    MessageDelta(Delta),
    /// A message of the model was stored, by any part of the program. If it is stored again, the event is repeated.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<Message>")]
    Message(Arc<Message>),
    /// A piece of a thought of the model.
    ThoughtDelta(Delta),
    /// A thought was stored.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<Thought>")]
    Thought(Arc<Thought>),
    /// A piece of the arguments of a call that the model proposes.
    ToolCallDelta {
        /// The name of the tool, as far as it is known.
        tool: Arc<str>,
        /// The piece. Its id is the [`ToolCall::id`] of the call.
        #[serde(flatten)]
        delta: Delta,
    },
    /// A call is about to run.
    #[non_exhaustive]
    ToolCallStarted {
        /// The call id.
        id: Arc<str>,
        /// The name of the tool.
        tool: Arc<str>,
        /// The checked arguments.
        args: Arc<Value>,
        /// The repairs that were made to the arguments.
        repairs: Arc<[Repair]>,
    },
    /// A call reports its progress. A reader that lags gets only the latest report.
    #[non_exhaustive]
    ToolCallProgress {
        /// The call id.
        id: Arc<str>,
        /// The message of the handler.
        message: String,
    },
    /// A gate was opened, and the turn waits. Answer through the turn's [`Gates`](crate::gate::Gates).
    #[serde(rename = "turnGateOpen")]
    GateOpened(Arc<OpenGate>),
    /// A gate was closed. A turn that is suspended leaves its gates open: [`Ended`](TurnEventKind::Ended) has them.
    #[serde(rename = "turnGateClosed")]
    #[non_exhaustive]
    GateClosed {
        /// The gate id.
        id: Arc<str>,
        /// How it was closed: `resolved`, `rejected`, `timedOut` or `aborted`.
        how: &'static str,
        /// Who answered, if the answer says so. Left out of the JSON otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Principal>,
        /// The note of the answer, if it has one. Left out of the JSON otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A settled call was stored: by the call path, or by hand with
    /// [`store`](crate::tool::context::TurnRecords::store). Calls that run together come in the order in which they end;
    /// their records are in the proposed order.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<ToolCall>")]
    ToolCall(Arc<ToolCall>),
    /// A call of a truncated response was stored. It did not run and never will: its record has no result, and
    /// [`is_cut_off`](ToolCall::is_cut_off) and [`is_error`](ToolCall::is_error) are true.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<ToolCall>")]
    ToolCallIncomplete(Arc<ToolCall>),
    /// An answer was rejected, because it does not match its type or because middleware rejected it. If there is a retry left,
    /// another message follows.
    #[non_exhaustive]
    AnswerRejected {
        /// The message that was the answer, if there was one.
        id: Option<Arc<str>>,
        /// The reason, as the model reads it.
        reason: String,
    },
    /// The prompt was compacted: see [`compact`](crate::middleware::compact()).
    Compacted(Arc<Compacted>),
    /// The pieces with this id so far are void. What follows starts from the beginning.
    Discarded {
        /// The id of the pieces.
        id: Arc<str>,
    },
    /// A response of the model is complete, with its tokens, finish reason and durations. One for each response.
    Usage(Arc<ModelUsage>),
    /// The lease of the conversation belongs to another process, of which there is no sign of life yet. The turn, or the reader
    /// that follows it, waits until the lease is renewed, released or has expired.
    #[non_exhaustive]
    LeaseWait {
        /// The turn that holds the lease, if it is known.
        turn_id: Option<Arc<str>>,
        /// The longest time until the lease expires, if its process is gone.
        #[serde(rename = "atMostMs", serialize_with = "as_millis")]
        #[schemars(with = "f64")]
        at_most: Duration,
    },
    /// The turn has ended. Always the last event.
    #[non_exhaustive]
    Ended {
        /// How it ended.
        status: TurnState,
        /// The code of the error if there is no answer.
        code: Option<Cow<'static, str>>,
        /// The reason for users of the application if there is no answer, without the details of an error: those are for operators,
        /// in [`TurnOutcome::error`] and [`EventKind::Error`](super::EventKind::Error). Left out of the JSON if there is an answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The other turn of the conversation because of which this one could not start, with the codes `E_TURN_WAITING` and
        /// `E_TURN_HELD`. Left out of the JSON if there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocked_by: Option<Arc<str>>,
        /// The gates of a suspended turn, or those at which the turn `blocked_by` waits. They stay open: no
        /// [`GateClosed`](TurnEventKind::GateClosed) came for them. Left out of the JSON if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        gates: Vec<OpenGate>,
        /// The usage of the complete turn.
        usage: Usage,
        /// How long it ran.
        #[serde(rename = "durationMs", serialize_with = "as_millis")]
        #[schemars(with = "f64")]
        duration: Duration,
    },
}

/// A piece of a text.
#[derive(Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Delta {
    /// The id of the record that the pieces become.
    pub id: Arc<str>,
    /// The number of bytes before this piece.
    pub offset: usize,
    /// The piece.
    pub text: String,
}

impl Delta {
    pub(crate) fn new(id: Arc<str>, offset: usize, text: impl Into<String>) -> Self {
        Delta {
            id,
            offset,
            text: text.into(),
        }
    }
}

impl TurnEvent {
    /// Creates an event that happens now.
    pub(crate) fn now(kind: TurnEventKind) -> Self {
        TurnEvent {
            time: SystemTime::now(),
            kind,
        }
    }

    /// Creates the event of a stored record, at the time of the record. `None` if its kind has none.
    pub(crate) fn of_record(record: &Record) -> Option<Self> {
        let kind = TurnEventKind::of_record(record)?;
        let time = match record {
            Record::Message(message) => message.created_at(),
            Record::Thought(thought) => thought.created_at(),
            Record::ToolCall(call) => call.completed_at().unwrap_or(call.updated_at()),
            _ => SystemTime::now(),
        };
        Some(TurnEvent { time, kind })
    }

    /// Returns the name of the event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }
}

impl TurnEventKind {
    /// Creates the last event of a turn.
    pub(crate) fn ended(outcome: &TurnOutcome, duration: Duration) -> Self {
        let error = outcome.error();
        let waiting = error.as_ref().and_then(Error::find_cause::<TurnWaiting>);
        let held = error.as_ref().and_then(Error::find_cause::<TurnHeld>);
        let other = waiting.map(|waiting| &waiting.turn_id);
        let other = other.or_else(|| held?.turn_id.as_ref());
        TurnEventKind::Ended {
            status: outcome.status.state(),
            code: error.as_ref().map(|error| error.code().as_str().into()),
            message: match (waiting, held) {
                (Some(waiting), _) => Some(waiting.to_string()),
                (_, Some(held)) => Some(held.to_string()),
                _ => outcome.status.failure().map(|failure| {
                    let state = outcome.status.state();
                    failure.public_message(state).to_owned()
                }),
            },
            blocked_by: other.filter(|other| **other != outcome.turn_id).cloned(),
            gates: waiting.map_or_else(Vec::new, |waiting| waiting.gates.clone()),
            usage: outcome.usage,
            duration,
        }
    }

    /// Creates the event of a stored record, if its kind has one: messages of the model, thoughts, and calls that are settled or
    /// were part of a truncated response.
    pub(crate) fn of_record(record: &Record) -> Option<Self> {
        match record {
            Record::Message(message) if message.is_answer() => {
                Some(TurnEventKind::Message(Arc::clone(message)))
            }
            Record::Thought(thought) => Some(TurnEventKind::Thought(Arc::clone(thought))),
            Record::ToolCall(call) if call.is_open() => None,
            Record::ToolCall(call) if call.is_complete() => {
                Some(TurnEventKind::ToolCall(Arc::clone(call)))
            }
            Record::ToolCall(call) => Some(TurnEventKind::ToolCallIncomplete(Arc::clone(call))),
            _ => None,
        }
    }

    /// Returns the name of the event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            TurnEventKind::Started { .. } => "started",
            TurnEventKind::MessageDelta(_) => "messageDelta",
            TurnEventKind::Message(_) => "message",
            TurnEventKind::ThoughtDelta(_) => "thoughtDelta",
            TurnEventKind::Thought(_) => "thought",
            TurnEventKind::ToolCallDelta { .. } => "toolCallDelta",
            TurnEventKind::ToolCallStarted { .. } => "toolCallStarted",
            TurnEventKind::ToolCallProgress { .. } => "toolCallProgress",
            TurnEventKind::GateOpened(_) => "turnGateOpen",
            TurnEventKind::GateClosed { .. } => "turnGateClosed",
            TurnEventKind::ToolCall(_) => "toolCall",
            TurnEventKind::ToolCallIncomplete(_) => "toolCallIncomplete",
            TurnEventKind::AnswerRejected { .. } => "answerRejected",
            TurnEventKind::Compacted(_) => "compacted",
            TurnEventKind::Discarded { .. } => "discarded",
            TurnEventKind::Usage(_) => "usage",
            TurnEventKind::LeaseWait { .. } => "leaseWait",
            TurnEventKind::Ended { .. } => "ended",
        }
    }
}

/// The fields of the event of a record.
#[derive(Serialize, JsonSchema)]
struct Of<T> {
    record: T,
}

fn record<S: Serializer>(record: &impl Serialize, to: S) -> Result<S::Ok, S::Error> {
    Of { record }.serialize(to)
}

impl fmt::Debug for TurnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl fmt::Debug for TurnEventKind {
    /// Omits the output of the model, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct(self.name());
        match self {
            TurnEventKind::MessageDelta(delta)
            | TurnEventKind::ThoughtDelta(delta)
            | TurnEventKind::ToolCallDelta { delta, .. } => debug.field("id", &delta.id),
            TurnEventKind::ToolCallStarted { id, .. }
            | TurnEventKind::ToolCallProgress { id, .. }
            | TurnEventKind::GateClosed { id, .. }
            | TurnEventKind::Discarded { id } => debug.field("id", id),
            TurnEventKind::AnswerRejected { id, .. } => debug.field("id", id),
            TurnEventKind::GateOpened(gate) => debug.field("id", &gate.id),
            TurnEventKind::Message(message) => debug.field("id", &message.id()),
            TurnEventKind::Thought(thought) => debug.field("id", &thought.id()),
            TurnEventKind::ToolCall(call) | TurnEventKind::ToolCallIncomplete(call) => {
                debug.field("id", &call.id())
            }
            TurnEventKind::Started { turn_id, .. } => debug.field("turn_id", turn_id),
            TurnEventKind::Compacted(compacted) => debug.field("compacted", compacted),
            TurnEventKind::Usage(usage) => debug.field("tokens", &usage.tokens),
            TurnEventKind::LeaseWait { turn_id, at_most } => {
                debug.field("turn_id", turn_id).field("at_most", at_most)
            }
            TurnEventKind::Ended { status, code, .. } => {
                debug.field("status", status).field("code", code)
            }
        };
        debug.finish_non_exhaustive()
    }
}

debug_fields!(Delta { id, offset });

#[cfg(test)]
mod tests;
