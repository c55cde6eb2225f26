//! What an executor reports while it works.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::event::{Level, LogEntry, TextKind, TextRef};
use crate::ids::new_id;
use crate::record::{Message, ProviderState, Record, Thought};
use crate::tool::context::{DispatchContext, TurnContext};
use crate::usage::ModelUsage;

use super::tool_call_writer::ToolCallWriter;

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
    pub fn message(&self) -> MessageWriter {
        MessageWriter(Text::new(self.ctx.turn(), TextKind::Message))
    }

    /// Starts a thought of the model.
    pub fn thought(&self) -> ThoughtWriter {
        ThoughtWriter(Text::new(self.ctx.turn(), TextKind::Thought))
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

    /// Logs a message for operators: a text, or a [`LogEntry`] with a kind and data.
    pub fn log(&self, level: Level, entry: impl Into<LogEntry>) {
        self.ctx.turn().log(level, entry);
    }
}

/// A text that is written in pieces. Dropping it forgets the text.
struct Text {
    turn: TurnContext,
    text: TextRef,
    state: Option<ProviderState>,
}

impl fmt::Debug for Text {
    /// The output of a model may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.turn.hub().with_text(&self.text, str::len);
        write!(f, "{} ({bytes} bytes)", self.text.id)
    }
}

impl Text {
    fn new(turn: &TurnContext, kind: TextKind) -> Self {
        Text {
            turn: turn.clone(),
            text: turn.hub().open_text(kind, new_id().into()),
            state: None,
        }
    }

    async fn push(&mut self, piece: &str) {
        if !piece.is_empty() && self.turn.hub().push_text(&self.text, piece) {
            // The turn does not wait for readers, but one on the same thread must get its chance.
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        self.turn.hub().close_text(&self.text);
    }
}

/// One table makes the writers: they differ in the record that comes of them.
macro_rules! writers {
    ($($(#[$doc:meta])* $writer:ident: $record:ident by $make:path;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "what was written is no record until it is finished"]
        pub struct $writer(Text);

        impl $writer {
            /// The id of the record that comes of it, and of its pieces.
            #[must_use]
            pub fn id(&self) -> &Arc<str> {
                &self.0.text.id
            }

            /// Returns whether there is no text so far.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.turn.hub().with_text(&self.0.text, str::is_empty)
            }

            /// Returns a copy of the text so far.
            #[must_use]
            pub fn text(&self) -> String {
                self.0.turn.hub().with_text(&self.0.text, str::to_owned)
            }

            /// Adds a piece. Yields once to a reader that lags, and does not wait for it.
            ///
            /// # Cancel safety
            /// If the future is dropped, the piece was added or it was not; it is never added in part.
            pub async fn push(&mut self, piece: impl AsRef<str>) {
                self.0.push(piece.as_ref()).await;
            }

            /// Starts from the beginning. Readers are told that the text so far is void.
            pub fn restart(&mut self) {
                self.0.turn.hub().discard_text(&self.0.text);
            }

            /// Sets what the provider wants back.
            pub fn provider_state(&mut self, state: ProviderState) {
                self.0.state = Some(state);
            }

            /// Makes it a record of the turn, and stores it.
            ///
            /// # Errors
            /// There is no text, or the store failed.
            pub async fn finish(self) -> Result<Arc<$record>, Error> {
                self.keep(|_, _| None).await
            }

            async fn keep(
                self,
                besides: impl FnOnce(&TurnContext, &str) -> Option<Record>,
            ) -> Result<Arc<$record>, Error> {
                let mut text = self.0;
                let turn = text.turn.clone();
                let written = turn.hub().close_text(&text.text);
                let mut record = $make(written).id(&*text.text.id);
                if let Some(state) = text.state.take() {
                    record = record.provider_state(state);
                }
                let record = record.build()?;
                let mut records = vec![Record::from(Arc::clone(&record))];
                records.extend(besides(&turn, &text.text.id));
                turn.write(records).await?;
                Ok(record)
            }
        }
    )+};
}

writers! {
    /// A message of the model that comes in pieces.
    MessageWriter: Message by Message::assistant;
    /// A thought of the model that comes in pieces.
    ThoughtWriter: Thought by Thought::new;
}

impl MessageWriter {
    /// As [`MessageWriter::finish`], of the message that is the turn's answer: a turn that is taken up again after it does not
    /// ask the model once more. Acknowledge the dispatch then, as for every answer.
    ///
    /// # Errors
    /// As [`MessageWriter::finish`].
    pub async fn finish_as_answer(self) -> Result<Arc<Message>, Error> {
        self.keep(TurnContext::answered_by).await
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
