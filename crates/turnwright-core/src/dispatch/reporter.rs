//! Reports the output of an executor.

use std::sync::Arc;

use super::text_writer::TextWriter;
use super::tool_call_writer::ToolCallWriter;
use crate::error::Error;
use crate::event::TextKind;
use crate::record::{Message, Thought};
use crate::tool::context::DispatchContext;
use crate::usage::ModelUsage;

/// Reports the work of an executor: pieces of messages, thoughts and calls for readers of the turn's event stream, token usage,
/// and log entries for operators.
///
/// The cost of a piece does not depend on the length of the text so far.
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

    /// Starts a tool call that the model proposes and reserves its id: see [`ToolCallWriter`].
    pub fn tool_call(&self) -> ToolCallWriter {
        ToolCallWriter::new(&self.ctx)
    }

    /// Returns whether the turn's events have a reader or may get one later. If not, an executor need not report pieces.
    #[must_use]
    pub fn may_have_readers(&self) -> bool {
        self.ctx.turn().may_have_readers()
    }

    /// Reports the usage of a model response. Call it once per response. Token counts ([`Usage`](crate::Usage)) are sufficient.
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

    /// Records a message of the model and acknowledges the dispatch.
    ///
    /// # Errors
    /// Returns an error if the text is empty, the message cannot be stored, or the dispatch has already ended.
    pub async fn answer(&self, text: impl Into<String>) -> Result<Arc<Message>, Error> {
        let mut message = self.reporter().message();
        message.push(text.into().as_str()).await;
        let message = message.finish_as_answer().await?;
        self.ack()?;
        Ok(message)
    }
}
