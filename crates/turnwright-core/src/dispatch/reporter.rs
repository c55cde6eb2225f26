//! What an executor says as it happens.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::event::{Delta, Level, TurnEvent};
use crate::ids::new_id;
use crate::record::{Message, ProviderState, Record, Thought};
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
        MessageWriter(Text::new(&self.turn))
    }

    /// Starts a thought of the model.
    pub fn thought(&self) -> ThoughtWriter {
        ThoughtWriter(Text::new(&self.turn))
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

/// A text that comes in pieces.
struct Text {
    turn: TurnContext,
    id: Arc<str>,
    text: String,
    state: Option<ProviderState>,
}

impl fmt::Debug for Text {
    /// What is said may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.id, self.text.len())
    }
}

impl Text {
    fn new(turn: &TurnContext) -> Self {
        Text {
            turn: turn.clone(),
            id: new_id().into(),
            text: String::new(),
            state: None,
        }
    }

    async fn push(&mut self, piece: &str, event: fn(Delta) -> TurnEvent) {
        if piece.is_empty() {
            return;
        }
        let (id, offset) = (&self.id, self.text.len());
        let event = || event(Delta::new(Arc::clone(id), offset, piece));
        // Said first: what was cut off here was not said at all.
        self.turn.emit(event).await;
        self.text.push_str(piece);
    }

    /// Begins anew: whoever reads is told that what came so far is void.
    async fn restart(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.text.clear();
        let id = &self.id;
        let event = || TurnEvent::Discarded { id: Arc::clone(id) };
        self.turn.emit(event).await;
    }
}

/// One table makes the writers: they differ in the record that comes of them.
macro_rules! writers {
    ($($(#[$doc:meta])* $writer:ident: $record:ident by $make:path, $delta:path;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "what was written is no record until it is finished"]
        pub struct $writer(Text);

        impl $writer {
            /// The id of the record that comes of it, and of its pieces.
            #[must_use]
            pub fn id(&self) -> &Arc<str> {
                &self.0.id
            }

            /// The text so far.
            #[must_use]
            pub fn text(&self) -> &str {
                &self.0.text
            }

            /// Adds a piece, and waits for whoever reads the stream if they are slow.
            pub async fn push(&mut self, piece: impl AsRef<str>) {
                self.0.push(piece.as_ref(), $delta).await;
            }

            /// Begins anew, and tells whoever reads that what came so far is void.
            pub async fn restart(&mut self) {
                self.0.restart().await;
            }

            /// What the provider wants back.
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
                let Text { turn, id, text, state } = self.0;
                let mut record = $make(text).id(&*id);
                if let Some(state) = state {
                    record = record.provider_state(state);
                }
                let record = record.build()?;
                let mut records = vec![Record::from(Arc::clone(&record))];
                records.extend(besides(&turn, &id));
                turn.write(records).await?;
                Ok(record)
            }
        }
    )+};
}

writers! {
    /// A message of the model that comes in pieces.
    MessageWriter: Message by Message::assistant, TurnEvent::MessageDelta;
    /// A thought of the model that comes in pieces.
    ThoughtWriter: Thought by Thought::new, TurnEvent::ThoughtDelta;
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
