//! Messages and thoughts written in pieces.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::Error;
use crate::event::{TextKind, TextRef};
use crate::ids::new_id;
use crate::record::{Message, ProviderState, Record, ResponseRef, Thought, TimelineRecord};
use crate::tool::context::TurnContext;

/// Writes a [`Message`] or a [`Thought`] of the model in pieces. Created by [`Reporter`](super::Reporter). Each piece is sent to
/// the turn's event stream immediately. [`finish`](Self::finish) creates the record. Dropping the writer discards the text.
///
/// ```
/// use turnwright_core::DispatchContext;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let ctx = DispatchContext::standalone();
/// let mut message = ctx.reporter().message();
/// for piece in ["Hello", ", ", "Ada!"] {
///     message.push(piece).await;
/// }
/// assert_eq!(message.finish().await?.text(), "Hello, Ada!");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[must_use = "the text is not recorded until `finish` is called"]
pub struct TextWriter<R> {
    turn: TurnContext,
    text: TextRef,
    response: Option<ResponseRef>,
    state: Option<ProviderState>,
    record: PhantomData<fn() -> R>,
}

/// A record that can be written in pieces. Public only as a bound: this module is private.
pub trait WrittenRecord: TimelineRecord {
    /// Builds the record.
    ///
    /// # Errors
    /// Returns an error if the record is invalid.
    fn build(
        id: &str,
        text: String,
        response: Option<ResponseRef>,
        state: Option<ProviderState>,
    ) -> Result<Arc<Self>, Error>;
}

impl WrittenRecord for Message {
    fn build(
        id: &str,
        text: String,
        response: Option<ResponseRef>,
        state: Option<ProviderState>,
    ) -> Result<Arc<Self>, Error> {
        let message = Message::assistant(text).id(id);
        message.of_response(response, state).build()
    }
}

impl WrittenRecord for Thought {
    fn build(
        id: &str,
        text: String,
        response: Option<ResponseRef>,
        state: Option<ProviderState>,
    ) -> Result<Arc<Self>, Error> {
        let thought = Thought::new(text).id(id);
        thought.of_response(response, state).build()
    }
}

impl<R> TextWriter<R> {
    pub(super) fn new(turn: &TurnContext, kind: TextKind) -> Self {
        TextWriter {
            turn: turn.clone(),
            text: turn.hub().open_text(kind, new_id().into()),
            response: None,
            state: None,
            record: PhantomData,
        }
    }

    /// Returns the id of the record. Its pieces have the same id.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.text.id
    }

    /// Returns whether there is no text yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turn.hub().with_text(&self.text, str::is_empty)
    }

    /// Returns a copy of the text so far.
    #[must_use]
    pub fn text(&self) -> String {
        self.turn.hub().with_text(&self.text, str::to_owned)
    }

    /// Adds a piece. Yields once if a reader lags, but does not wait for it.
    ///
    /// # Cancel safety
    /// If the future is dropped, the piece has either been added completely or not at all.
    pub async fn push(&mut self, piece: impl AsRef<str>) {
        let piece = piece.as_ref();
        if !piece.is_empty() && self.turn.hub().push_text(&self.text, piece) {
            // The turn does not wait for readers, but a reader on the same thread must get a chance to run.
            tokio::task::yield_now().await;
        }
    }

    /// Discards the text so far and starts over. Readers are notified.
    pub fn restart(&mut self) {
        self.turn.hub().discard_text(&self.text);
    }

    /// Sets the model response that the record belongs to. All records of a response share it.
    pub fn response(&mut self, response: ResponseRef) {
        self.response = Some(response);
    }

    /// Sets the state that the provider expects back.
    pub fn provider_state(&mut self, state: ProviderState) {
        self.state = Some(state);
    }
}

impl<R: WrittenRecord> TextWriter<R> {
    /// Creates the record, adds it to the turn and stores it.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_MESSAGE_VALUE` or `E_INVALID_INITIAL_THOUGHT_VALUE` if the text is empty, and `E_STORE_ERROR`
    /// if the record cannot be stored.
    pub async fn finish(self) -> Result<Arc<R>, Error> {
        self.finish_with(|_, _| None).await
    }

    /// Also stores another record in the same batch.
    async fn finish_with(
        mut self,
        besides: impl FnOnce(&TurnContext, &str) -> Option<Record>,
    ) -> Result<Arc<R>, Error> {
        let text = self.turn.hub().close_text(&self.text);
        let record = R::build(&self.text.id, text, self.response.take(), self.state.take())?;
        let mut records = vec![Arc::clone(&record).into_record()];
        records.extend(besides(&self.turn, &self.text.id));
        self.turn.write(records).await?;
        Ok(record)
    }
}

impl TextWriter<Message> {
    /// Like [`finish`](Self::finish), for a message that is the answer of the turn: if the turn is resumed afterwards, the model
    /// is not asked again. Acknowledge the dispatch afterwards, as for every answer.
    ///
    /// # Errors
    /// See [`finish`](Self::finish).
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
    /// Omits the text, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.turn.hub().with_text(&self.text, str::len);
        write!(f, "TextWriter({}, {bytes} bytes)", self.text.id)
    }
}
