//! What a turn says as it goes.

use std::fmt;
use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::cancel::Cancellation;
use crate::deadline::{TimeLimit, within};
use crate::gate::OpenGate;
use crate::record::{Message, Record, Thought, ToolCall};
use crate::schema::{Repair, Schema};

/// What a turn says as it goes: pieces, each with its offset, and the records that they become.
#[derive(Clone)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A piece of what the model says.
    MessageDelta(Delta),
    /// A message of the model was stored, by whatever part of the program. One that is stored again comes again.
    Message(Arc<Message>),
    /// A piece of what the model thinks.
    ThoughtDelta(Delta),
    /// A thought was stored.
    Thought(Arc<Thought>),
    /// A piece of the arguments of a call that the model proposes.
    ToolCallDelta {
        /// The tool's name, as far as it is known.
        tool: Arc<str>,
        /// The piece. Its id is the provider's, or its place among the calls of the response.
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
    /// Somebody is asked, and waited for: answer by the turn's [`Gates`](crate::gate::Gates).
    GateOpened(Arc<OpenGate>),
    /// Nobody is waited for any more. Missed by a reader that is slow.
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
    ToolCall(Arc<ToolCall>),
    /// A call of a response that was cut off is stored. It was not executed and never will be: its record has no result,
    /// [`is_cut_off`](ToolCall::is_cut_off) and [`is_error`](ToolCall::is_error) are true.
    ToolCallIncomplete(Arc<ToolCall>),
    /// The pieces under this id so far are void: what follows begins anew.
    Discarded {
        /// The id of the pieces.
        id: Arc<str>,
    },
}

/// A piece of a text.
#[derive(Clone)]
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

impl Serialize for TurnEvent {
    /// As an object whose `event` is its name. A record is in it as [`Record::to_value`] writes it, but of a result behind a
    /// handle only the kind, the length and the spool id are shown: it may have any size.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.name();
        let record = |record: Record| {
            let written = record.to_event_value().map_err(S::Error::custom);
            written.map(|record| json!({ "event": name, "record": record }))
        };
        let event = match self {
            TurnEvent::MessageDelta(Delta { id, offset, text })
            | TurnEvent::ThoughtDelta(Delta { id, offset, text }) => {
                json!({ "event": name, "id": id, "offset": offset, "text": text })
            }
            TurnEvent::ToolCallDelta { tool, delta } => {
                let Delta { id, offset, text } = delta;
                json!({ "event": name, "id": id, "tool": tool, "offset": offset, "text": text })
            }
            TurnEvent::ToolCallStarted {
                id,
                tool,
                args,
                repairs,
            } => json!({
                "event": name, "id": id, "tool": tool, "args": args, "repairs": repairs,
            }),
            TurnEvent::ToolCallProgress { id, message } => {
                json!({ "event": name, "id": id, "message": message })
            }
            TurnEvent::GateOpened(gate) => json!({
                "event": name, "id": gate.id, "name": gate.name, "toolCall": gate.tool_call,
                "question": gate.question, "schema": gate.schema.as_ref().map(Schema::document),
            }),
            TurnEvent::GateClosed { id, how } => json!({ "event": name, "id": id, "how": how }),
            TurnEvent::Discarded { id } => json!({ "event": name, "id": id }),
            TurnEvent::Message(message) => record(Record::from(Arc::clone(message)))?,
            TurnEvent::Thought(thought) => record(Record::from(Arc::clone(thought)))?,
            TurnEvent::ToolCall(call) | TurnEvent::ToolCallIncomplete(call) => {
                record(Record::from(Arc::clone(call)))?
            }
        };
        event.serialize(serializer)
    }
}

/// Hands an event over, and waits for the reader if there is no room; not past a cancellation, and not if nobody reads. Whether
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
        let mut debug = f.debug_struct(self.name());
        match self {
            TurnEvent::MessageDelta(delta) | TurnEvent::ThoughtDelta(delta) => {
                debug.field("delta", delta)
            }
            TurnEvent::ToolCallDelta { tool, delta } => {
                debug.field("tool", tool).field("delta", delta)
            }
            TurnEvent::ToolCallStarted { id, tool, .. } => {
                debug.field("id", id).field("tool", tool)
            }
            TurnEvent::GateOpened(gate) => debug.field("gate", gate),
            TurnEvent::GateClosed { id, how } => debug.field("id", id).field("how", how),
            TurnEvent::ToolCallProgress { id, .. } => debug.field("id", id),
            TurnEvent::Message(record) => debug.field("id", &record.id()),
            TurnEvent::Thought(record) => debug.field("id", &record.id()),
            TurnEvent::ToolCall(record) | TurnEvent::ToolCallIncomplete(record) => {
                debug.field("id", &record.id())
            }
            TurnEvent::Discarded { id } => debug.field("id", id),
        };
        debug.finish()
    }
}

impl fmt::Debug for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{} ({} bytes)", self.id, self.offset, self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{ArtifactKind, SpooledArtifact};
    use crate::record::ToolResults;

    #[test]
    fn what_is_said_can_be_sent_on_as_json() {
        let delta = |text: &str| Delta::new("m".into(), 3, text);
        let written = |event: TurnEvent| serde_json::to_value(event).unwrap();
        assert_eq!(
            written(TurnEvent::MessageDelta(delta("lo"))),
            json!({ "event": "messageDelta", "id": "m", "offset": 3, "text": "lo" })
        );
        let tool = "look".into();
        assert_eq!(
            written(TurnEvent::ToolCallDelta {
                tool,
                delta: delta("{")
            }),
            json!({ "event": "toolCallDelta", "id": "m", "offset": 3, "text": "{", "tool": "look" })
        );
        let message = Message::assistant("Hello").id("m").build().unwrap();
        let event = written(TurnEvent::Message(message));
        assert_eq!(
            (&event["event"], &event["record"]["text"]),
            (&json!("message"), &json!("Hello"))
        );
        let call = ToolCall::builder("look", "{").cut_off(true).build();
        let event = written(TurnEvent::ToolCallIncomplete(call.unwrap()));
        assert_eq!(
            (&event["event"], &event["record"]["tool"]),
            (&json!("toolCallIncomplete"), &json!("look"))
        );
        assert_eq!(
            written(TurnEvent::Discarded { id: "m".into() }),
            json!({ "event": "discarded", "id": "m" })
        );
    }

    #[test]
    fn an_event_shows_an_inline_result_and_describes_one_behind_a_handle() {
        let event = |content: String, inline: bool| {
            let artifact = SpooledArtifact::in_memory(content, ArtifactKind::TEXT);
            let call = ToolCall::builder("look", "{}")
                .results(ToolResults::Artifacts(vec![artifact]))
                .inline(inline)
                .build();
            let event = TurnEvent::ToolCall(call.unwrap());
            serde_json::to_value(event).unwrap()["record"]["results"].clone()
        };
        let described = json!({ "artifacts": [{ "kind": "text", "bytes": 3_000_000 }] });
        assert_eq!(event("x".repeat(3_000_000), false), described);
        let shown = event("short".to_owned(), true);
        assert_eq!(shown["artifacts"][0]["text"], "short");
    }
}
