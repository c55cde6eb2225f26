//! What a turn says as it goes.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::cancel::Cancellation;
use crate::record::{Message, Thought, ToolCall};
use crate::within::{TimeLimit, within};

/// What a turn says as it goes: pieces, each with its offset, and the records that they become.
#[derive(Clone)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A piece of what the model says.
    MessageDelta(Delta),
    /// A message is complete, and stored.
    Message(Arc<Message>),
    /// A piece of what the model thinks.
    ThoughtDelta(Delta),
    /// A thought is complete, and stored.
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
        args: Value,
    },
    /// A call says how far it is. Missed by a reader that is slow.
    #[non_exhaustive]
    ToolCallProgress {
        /// Which call.
        id: Arc<str>,
        /// In its words.
        message: String,
    },
    /// A call is settled, and stored. Calls that run together come in the order in which they end; their records are in the
    /// proposed order.
    ToolCall(Arc<ToolCall>),
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
            TurnEvent::ToolCall(_) => "toolCall",
            TurnEvent::Discarded { .. } => "discarded",
        }
    }
}

/// Hands an event over, and waits for the reader if there is no room; not past a cancellation, and not if nobody reads.
pub(super) async fn send(
    stream: &mpsc::Sender<TurnEvent>,
    cancellation: &Cancellation,
    event: impl FnOnce() -> TurnEvent,
) {
    if stream.is_closed() {
        return;
    }
    if let Err(TrySendError::Full(event)) = stream.try_send(event()) {
        // Apart, so that whoever finds room does not carry the room for waiting.
        let sent = within(TimeLimit::none(), cancellation, stream.send(event));
        // Either way it is gone: the reader left, or the turn is over.
        let _ = Box::pin(sent).await;
    }
}

/// Hands an event over if there is room.
pub(super) fn send_now(stream: &mpsc::Sender<TurnEvent>, event: impl FnOnce() -> TurnEvent) {
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
            TurnEvent::ToolCallProgress { id, .. } => debug.field("id", id),
            TurnEvent::Message(record) => debug.field("id", &record.id()),
            TurnEvent::Thought(record) => debug.field("id", &record.id()),
            TurnEvent::ToolCall(record) => debug.field("id", &record.id()),
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
