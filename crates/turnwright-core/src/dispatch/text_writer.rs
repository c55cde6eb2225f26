//! Messages and thoughts that come in pieces.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::Error;
use crate::event::{Delta, TurnEvent};
use crate::ids::new_id;
use crate::record::{Message, ProviderState, Record, Thought, TimelineRecord};
use crate::tool::context::TurnContext;

/// Writes a record of the model piece by piece: a [`Message`] or a [`Thought`]. [`Reporter`](super::Reporter) starts one. Each
/// piece is on the turn's stream at once; the record is made by [`finish`](Self::finish).
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
    id: Arc<str>,
    text: String,
    state: Option<ProviderState>,
    record: PhantomData<fn() -> R>,
}

/// Writes a message of the model piece by piece.
pub type MessageWriter = TextWriter<Message>;

/// Writes a thought of the model piece by piece.
pub type ThoughtWriter = TextWriter<Thought>;

/// A record that can be written in pieces. Public as a bound only: this module is private.
pub trait WrittenRecord: TimelineRecord {
    /// The event of a piece.
    fn delta(delta: Delta) -> TurnEvent;

    fn build(id: &str, text: String, state: Option<ProviderState>) -> Result<Arc<Self>, Error>;
}

impl WrittenRecord for Message {
    fn delta(delta: Delta) -> TurnEvent {
        TurnEvent::MessageDelta(delta)
    }

    fn build(id: &str, text: String, state: Option<ProviderState>) -> Result<Arc<Self>, Error> {
        let message = Message::assistant(text).id(id);
        match state {
            Some(state) => message.provider_state(state).build(),
            None => message.build(),
        }
    }
}

impl WrittenRecord for Thought {
    fn delta(delta: Delta) -> TurnEvent {
        TurnEvent::ThoughtDelta(delta)
    }

    fn build(id: &str, text: String, state: Option<ProviderState>) -> Result<Arc<Self>, Error> {
        let thought = Thought::new(text).id(id);
        match state {
            Some(state) => thought.provider_state(state).build(),
            None => thought.build(),
        }
    }
}

impl<R: WrittenRecord> TextWriter<R> {
    pub(super) fn new(turn: &TurnContext) -> Self {
        TextWriter {
            turn: turn.clone(),
            id: new_id().into(),
            text: String::new(),
            state: None,
            record: PhantomData,
        }
    }

    /// Returns the id of the record that is written, which is also that of its pieces.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a piece. Waits if the reader of the turn's stream is slow.
    ///
    /// # Cancel safety
    /// If the future is dropped while it waits, the piece is neither on the stream nor in the text.
    pub async fn push(&mut self, piece: impl AsRef<str>) {
        let piece = piece.as_ref();
        if piece.is_empty() {
            return;
        }
        let (id, offset) = (&self.id, self.text.len());
        let event = || R::delta(Delta::new(Arc::clone(id), offset, piece));
        // Emitted first: a piece that was cut off here is not in the text either.
        self.turn.emit(event).await;
        self.text.push_str(piece);
    }

    /// Discards the text so far, and says so on the turn's stream.
    pub async fn restart(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.text.clear();
        let id = &self.id;
        let event = || TurnEvent::Discarded { id: Arc::clone(id) };
        self.turn.emit(event).await;
    }

    /// Sets the state that the provider expects back.
    pub fn provider_state(&mut self, state: ProviderState) {
        self.state = Some(state);
    }

    /// Makes the record, adds it to the turn and stores it.
    ///
    /// # Errors
    /// The text is empty (`E_INVALID_INITIAL_MESSAGE_VALUE`, `E_INVALID_INITIAL_THOUGHT_VALUE`), or `E_STORE_ERROR`.
    pub async fn finish(self) -> Result<Arc<R>, Error> {
        self.finish_with(|_, _| None).await
    }

    /// Stores another record in the same batch.
    async fn finish_with(
        self,
        besides: impl FnOnce(&TurnContext, &str) -> Option<Record>,
    ) -> Result<Arc<R>, Error> {
        let record = R::build(&self.id, self.text, self.state)?;
        let mut records = vec![Arc::clone(&record).into_record()];
        records.extend(besides(&self.turn, &self.id));
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

impl<R> fmt::Debug for TextWriter<R> {
    /// The text may be secret and is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextWriter({}, {} bytes)", self.id, self.text.len())
    }
}
