//! Messages and thoughts that are written in pieces.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::Error;
use crate::event::{TextKind, TextRef};
use crate::ids::new_id;
use crate::record::{Message, ProviderState, Record, Thought, TimelineRecord};
use crate::tool::context::TurnContext;

/// Writes a record of the model piece by piece: a [`Message`] or a [`Thought`]. [`Reporter`](super::Reporter) starts one. Each
/// piece is on the turn's stream at once; [`finish`](Self::finish) makes the record. Dropping the writer forgets the text.
///
/// ```
/// use turnwright_core::DispatchContext;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let ctx = DispatchContext::standalone();
/// let mut message = ctx.reporter().message();
/// for piece in ["Hello", ", ", "Ada!"] {
///     message.push(piece).await;
/// }
/// assert_eq!(message.finish().await?.text(), "Hello, Ada!");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[must_use = "what was written is not recorded until `finish` is called"]
pub struct TextWriter<R> {
    turn: TurnContext,
    text: TextRef,
    state: Option<ProviderState>,
    record: PhantomData<fn() -> R>,
}

/// A record that can be written in pieces. Public as a bound only: this module is private.
pub trait WrittenRecord: TimelineRecord {
    /// Builds the record.
    ///
    /// # Errors
    /// It is not well defined.
    fn build(id: &str, text: String, state: Option<ProviderState>) -> Result<Arc<Self>, Error>;
}

impl WrittenRecord for Message {
    fn build(id: &str, text: String, state: Option<ProviderState>) -> Result<Arc<Self>, Error> {
        let message = Message::assistant(text).id(id);
        match state {
            Some(state) => message.provider_state(state).build(),
            None => message.build(),
        }
    }
}

impl WrittenRecord for Thought {
    fn build(id: &str, text: String, state: Option<ProviderState>) -> Result<Arc<Self>, Error> {
        let thought = Thought::new(text).id(id);
        match state {
            Some(state) => thought.provider_state(state).build(),
            None => thought.build(),
        }
    }
}

impl<R> TextWriter<R> {
    pub(super) fn new(turn: &TurnContext, kind: TextKind) -> Self {
        TextWriter {
            turn: turn.clone(),
            text: turn.hub().open_text(kind, new_id().into()),
            state: None,
            record: PhantomData,
        }
    }

    /// Returns the id of the record that is written, which is also that of its pieces.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.text.id
    }

    /// Returns whether there is no text so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turn.hub().with_text(&self.text, str::is_empty)
    }

    /// Returns a copy of the text so far.
    #[must_use]
    pub fn text(&self) -> String {
        self.turn.hub().with_text(&self.text, str::to_owned)
    }

    /// Adds a piece. Yields once to a reader that lags, and does not wait for it.
    ///
    /// # Cancel safety
    /// If the future is dropped, the piece was added or it was not; it is never added in part.
    pub async fn push(&mut self, piece: impl AsRef<str>) {
        let piece = piece.as_ref();
        if !piece.is_empty() && self.turn.hub().push_text(&self.text, piece) {
            // The turn does not wait for readers, but one on the same thread must get its chance.
            tokio::task::yield_now().await;
        }
    }

    /// Starts from the beginning. Readers are told that the text so far is void.
    pub fn restart(&mut self) {
        self.turn.hub().discard_text(&self.text);
    }

    /// Sets the state that the provider expects back.
    pub fn provider_state(&mut self, state: ProviderState) {
        self.state = Some(state);
    }
}

impl<R: WrittenRecord> TextWriter<R> {
    /// Makes the record, adds it to the turn and stores it.
    ///
    /// # Errors
    /// The text is empty (`E_INVALID_INITIAL_MESSAGE_VALUE`, `E_INVALID_INITIAL_THOUGHT_VALUE`), or `E_STORE_ERROR`.
    pub async fn finish(self) -> Result<Arc<R>, Error> {
        self.finish_with(|_, _| None).await
    }

    /// Stores another record in the same batch.
    async fn finish_with(
        mut self,
        besides: impl FnOnce(&TurnContext, &str) -> Option<Record>,
    ) -> Result<Arc<R>, Error> {
        let text = self.turn.hub().close_text(&self.text);
        let record = R::build(&self.text.id, text, self.state.take())?;
        let mut records = vec![Arc::clone(&record).into_record()];
        records.extend(besides(&self.turn, &self.text.id));
        self.turn.write(records).await?;
        Ok(record)
    }
}

impl TextWriter<Message> {
    /// As [`finish`](Self::finish), for the message that is the turn's answer: a turn that is resumed after it does not ask the
    /// model again. Acknowledge the dispatch then, as for every answer.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub async fn finish_as_answer(self) -> Result<Arc<Message>, Error> {
        self.finish_with(TurnContext::answered_by).await
    }
}

impl<R> Drop for TextWriter<R> {
    fn drop(&mut self) {
        self.turn.hub().close_text(&self.text);
    }
}

impl<R> fmt::Debug for TextWriter<R> {
    /// The output of a model may be secret and is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.turn.hub().with_text(&self.text, str::len);
        write!(f, "TextWriter({}, {bytes} bytes)", self.text.id)
    }
}
