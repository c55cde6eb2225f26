//! What an executor says as it happens.

use std::sync::Arc;

use super::text_writer::{MessageWriter, TextWriter, ThoughtWriter};
use crate::error::Error;
use crate::event::{Delta, Level, TurnEvent};
use crate::record::Message;
use crate::tool::context::{DispatchContext, TurnContext};
use crate::usage::Usage;

/// Says what happens as it happens: pieces of messages, thoughts and calls for whoever reads the turn's stream, and words to
/// operators.
///
/// A piece costs the same however long the text is already.
#[derive(Clone, Debug)]
pub struct Reporter {
    turn: TurnContext,
}

impl Reporter {
    /// Starts a message of the model.
    pub fn message(&self) -> MessageWriter {
        TextWriter::new(&self.turn)
    }

    /// Starts a thought of the model.
    pub fn thought(&self) -> ThoughtWriter {
        TextWriter::new(&self.turn)
    }

    /// Whether anybody may read the turn's stream. Once nobody does, nobody will: a piece need not even be made then.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.turn.is_heard()
    }

    /// Gives a piece of the arguments of a call that the model proposes.
    pub async fn tool_call(&self, tool: &Arc<str>, delta: Delta) {
        let event = || TurnEvent::ToolCallDelta {
            tool: Arc::clone(tool),
            delta,
        };
        self.turn.emit(event).await;
    }

    /// Says that the pieces under this id so far are void: a request was made again.
    pub async fn discard(&self, id: &Arc<str>) {
        let event = || TurnEvent::Discarded { id: Arc::clone(id) };
        self.turn.emit(event).await;
    }

    /// Says how much of the model was used.
    pub fn usage(&self, usage: Usage) {
        self.turn.add_usage(usage);
    }

    /// Says something to operators.
    pub fn log(&self, level: Level, message: impl Into<String>) {
        self.turn.log(level, message);
    }
}

impl DispatchContext {
    /// Says what happens as it happens.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter {
            turn: self.turn().clone(),
        }
    }

    /// Says something as the model and ends the dispatch as done.
    ///
    /// # Errors
    /// The message is empty or could not be stored; the dispatch was ended before.
    pub async fn answer(&self, text: impl Into<String>) -> Result<Arc<Message>, Error> {
        let mut message = self.reporter().message();
        message.push(text.into().as_str()).await;
        let message = message.finish_as_answer().await?;
        self.ack()?;
        Ok(message)
    }
}
