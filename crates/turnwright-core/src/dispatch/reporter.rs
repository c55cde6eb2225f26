//! What an executor reports while it works.

use std::sync::Arc;

use super::text_writer::TextWriter;
use super::tool_call_writer::ToolCallWriter;
use crate::error::Error;
use crate::event::TextKind;
use crate::record::{Message, Thought};
use crate::tool::context::DispatchContext;
use crate::usage::ModelUsage;

/// Reports the work of an executor: the pieces of messages, thoughts and calls for the readers of the turn's stream, the usage
/// of the model, and log entries for operators.
///
/// A piece costs the same however long the text is already.
#[derive(Clone, Debug)]
pub struct Reporter {
    ctx: DispatchContext,
}

impl Reporter {
    /// Starts a message of the model.
    pub fn message(&self) -> TextWriter<Message> {
        TextWriter::new(self.ctx.turn(), TextKind::Message)
    }

    /// Starts a thought of the model.
    pub fn thought(&self) -> TextWriter<Thought> {
        TextWriter::new(self.ctx.turn(), TextKind::Thought)
    }

    /// Starts a tool call that the model proposes, and reserves its id: see [`ToolCallWriter`].
    pub fn tool_call(&self) -> ToolCallWriter {
        ToolCallWriter::new(&self.ctx)
    }

    /// Returns whether the turn's events have a reader, or may later have one. If not, none will ever have: pieces need not
    /// be made.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.ctx.turn().is_heard()
    }

    /// Reports the usage of a model response, once for each response. Tokens alone ([`Usage`](crate::Usage)) are enough.
    pub fn usage(&self, usage: impl Into<ModelUsage>) {
        self.ctx.turn().add_usage(usage);
    }
}

impl DispatchContext {
    /// Returns the reporter of the turn.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter { ctx: self.clone() }
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
