//! What a turn says as it goes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::cancel::Cancellation;
use crate::deadline::{TimeLimit, within};
use crate::gate::OpenGate;
use crate::record::{Message, Record, Thought, ToolCall};
use crate::schema::Repair;

/// What a turn says as it goes: pieces, each with its offset, and the records that they become.
///
/// Serialised, it is an object whose `event` is its name. A record is in it as [`Record::to_value`] writes it, but of a result
/// behind a handle only the kind, the length and the spool id are shown: it may have any size.
#[derive(Clone, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A piece of what the model says.
    MessageDelta(Delta),
    /// A message of the model was stored, by whatever part of the program. One that is stored again comes again.
    #[serde(serialize_with = "record")]
    Message(Arc<Message>),
    /// A piece of what the model thinks.
    ThoughtDelta(Delta),
    /// A thought was stored.
    #[serde(serialize_with = "record")]
    Thought(Arc<Thought>),
    /// A piece of the arguments of a call that the model proposes.
    ToolCallDelta {
        /// The tool's name, as far as it is known.
        tool: Arc<str>,
        /// The piece. Its id is the provider's, or its place among the calls of the response.
        #[serde(flatten)]
        delta: Delta,
    },
    /// A call is about to run.
    #[non_exhaustive]
    ToolCallStarted {
        /// Which call.
        id: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// The checked arguments.
        args: Arc<Value>,
        /// What checking changed to make them so.
        repairs: Arc<[Repair]>,
    },
    /// A call says how far it is. Missed by a reader that is slow.
    #[non_exhaustive]
    ToolCallProgress {
        /// Which call.
        id: Arc<str>,
        /// In its words.
        message: String,
    },
    /// A gate was opened, and the turn waits: answer by the turn's [`Gates`](crate::gate::Gates).
    #[serde(rename = "turnGateOpen")]
    GateOpened(Arc<OpenGate>),
    /// A gate was closed. A slow reader may miss it.
    #[serde(rename = "turnGateClosed")]
    #[non_exhaustive]
    GateClosed {
        /// Which gate.
        id: Arc<str>,
        /// How: `resolved`, `rejected`, `timedOut` or `aborted`.
        how: &'static str,
    },
    /// A settled call was stored: by the call path, or by hand with
    /// [`store_tool_call`](crate::TurnContext::store_tool_call). Calls that run together come in the order in which they end;
    /// their records are in the proposed order.
    #[serde(serialize_with = "record")]
    ToolCall(Arc<ToolCall>),
    /// A call of a response that was cut off is stored. It was not executed and never will be: its record has no result,
    /// [`is_cut_off`](ToolCall::is_cut_off) and [`is_error`](ToolCall::is_error) are true.
    #[serde(serialize_with = "record")]
    ToolCallIncomplete(Arc<ToolCall>),
    /// The pieces under this id so far are void: what follows starts from the beginning.
    Discarded {
        /// The id of the pieces.
        id: Arc<str>,
    },
}

/// A piece of a text.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct Delta {
    /// What the pieces of one text have in common: the id of the record that they become.
    pub id: Arc<str>,
    /// How many bytes came before it.
    pub offset: usize,
    /// The piece.
    pub text: String,
}

impl Delta {
    /// A piece of a text.
    pub fn new(id: Arc<str>, offset: usize, text: impl Into<String>) -> Self {
        Delta {
            id,
            offset,
            text: text.into(),
        }
    }
}

impl TurnEvent {
    /// The event of a record that was stored, if its kind has one: messages of the model, thoughts, and calls that are
    /// settled or were cut off.
    pub(crate) fn of_record(record: &Record) -> Option<Self> {
        match record {
            Record::Message(message) if message.is_answer() => {
                Some(TurnEvent::Message(Arc::clone(message)))
            }
            Record::Thought(thought) => Some(TurnEvent::Thought(Arc::clone(thought))),
            Record::ToolCall(call) if call.is_open() => None,
            Record::ToolCall(call) if call.is_complete() => {
                Some(TurnEvent::ToolCall(Arc::clone(call)))
            }
            Record::ToolCall(call) => Some(TurnEvent::ToolCallIncomplete(Arc::clone(call))),
            _ => None,
        }
    }

    /// The name of the event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            TurnEvent::MessageDelta(_) => "messageDelta",
            TurnEvent::Message(_) => "message",
            TurnEvent::ThoughtDelta(_) => "thoughtDelta",
            TurnEvent::Thought(_) => "thought",
            TurnEvent::ToolCallDelta { .. } => "toolCallDelta",
            TurnEvent::ToolCallStarted { .. } => "toolCallStarted",
            TurnEvent::ToolCallProgress { .. } => "toolCallProgress",
            TurnEvent::GateOpened(_) => "turnGateOpen",
            TurnEvent::GateClosed { .. } => "turnGateClosed",
            TurnEvent::ToolCall(_) => "toolCall",
            TurnEvent::ToolCallIncomplete(_) => "toolCallIncomplete",
            TurnEvent::Discarded { .. } => "discarded",
        }
    }
}

fn record<S: Serializer>(of: &(impl Clone + Into<Record>), to: S) -> Result<S::Ok, S::Error> {
    let record = of.clone().into().to_event_value();
    HashMap::from([("record", record.map_err(S::Error::custom)?)]).serialize(to)
}

/// Hands an event over, and waits for the reader if there is no room; not past a cancellation, and not without a reader. Whether
/// it was.
pub(crate) async fn send(
    stream: &mpsc::Sender<TurnEvent>,
    cancellation: &Cancellation,
    event: TurnEvent,
) -> bool {
    // Otherwise it is gone: the reader left, or the turn is over.
    let sent = within(TimeLimit::none(), cancellation, stream.send(event)).await;
    matches!(sent, Ok(Ok(())))
}

/// Hands an event over if there is room.
pub(crate) fn send_now(stream: &mpsc::Sender<TurnEvent>, event: impl FnOnce() -> TurnEvent) {
    if let Ok(room) = stream.try_reserve() {
        room.send(event());
    }
}

impl fmt::Debug for TurnEvent {
    /// What is said may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = match self {
            TurnEvent::MessageDelta(delta)
            | TurnEvent::ThoughtDelta(delta)
            | TurnEvent::ToolCallDelta { delta, .. } => &*delta.id,
            TurnEvent::ToolCallStarted { id, .. }
            | TurnEvent::ToolCallProgress { id, .. }
            | TurnEvent::GateClosed { id, .. }
            | TurnEvent::Discarded { id } => id,
            TurnEvent::GateOpened(gate) => &gate.id,
            TurnEvent::Message(message) => message.id(),
            TurnEvent::Thought(thought) => thought.id(),
            TurnEvent::ToolCall(call) | TurnEvent::ToolCallIncomplete(call) => call.id(),
        };
        f.debug_struct(self.name())
            .field("id", &id)
            .finish_non_exhaustive()
    }
}

debug_fields!(Delta { id, offset });

#[cfg(test)]
mod tests;
