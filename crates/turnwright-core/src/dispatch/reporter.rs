//! Reports the output of an executor: messages and thoughts, written in pieces, and tool calls.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::{Error, ErrorCode};
use crate::event::{TextKind, TextRef};
use crate::ids::{Id, new_id};
use crate::record::{
    Message, OfResponse, ProviderState, Record, RecordBuilder, ResponseRef, Thought, TimelineRecord,
};
use crate::tool::context::{DispatchContext, TurnContext};
use crate::usage::{ModelRequest, ModelUsage};

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
        self.ctx.turn().hub().may_have_readers()
    }

    /// Reports the request that is sent next, for the span and the metrics of this run: its settings, and if the executor asks
    /// several models, which of them. Call it before each request.
    pub fn request(&self, request: ModelRequest) {
        self.ctx.turn().limits().add_request(request);
    }

    /// Reports that the last request failed, for the metrics of this run. Needed if another request follows in the same run: the
    /// last request of a run fails with it.
    pub fn failed(&self, code: ErrorCode) {
        self.ctx.turn().limits().fail_request(code);
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

/// Writes a [`Message`] or a [`Thought`] of the model in pieces. Created by [`Reporter`]. Each piece is sent to
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
pub trait WrittenRecord: TimelineRecord + OfResponse {
    /// Starts the record with this text.
    fn of_text(text: String) -> RecordBuilder<Self>;
}

impl WrittenRecord for Message {
    fn of_text(text: String) -> RecordBuilder<Self> {
        Message::assistant(text)
    }
}

impl WrittenRecord for Thought {
    fn of_text(text: String) -> RecordBuilder<Self> {
        Thought::new(text)
    }
}

impl<R> TextWriter<R> {
    fn new(turn: &TurnContext, kind: TextKind) -> Self {
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
        let record = R::of_text(text).id(&*self.text.id);
        let record = record.of_response(self.response.take(), self.state.take());
        let record = record.build()?;
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

/// A tool call whose name and arguments arrive in pieces. Its id is reserved from the first piece on: the deltas on the event
/// stream, the later [`ToolExecutionStart`](crate::EventKind::ToolExecutionStart) and the [`ToolCall`](crate::ToolCall) have the
/// same id.
///
/// The pieces are only for readers. Once the response is complete, call [`propose`](Self::propose) with the complete name and
/// arguments.
///
/// ```
/// use turnwright_core::DispatchContext;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let ctx = DispatchContext::standalone();
/// let mut call = ctx.reporter().tool_call();
/// call.name("look_up");
/// call.push(r#"{"word":"#).await;
/// call.push(r#" "turn"}"#).await;
/// let id = call.id().to_string();
/// let proposed = call.propose("look_up", r#"{"word": "turn"}"#);
/// assert_eq!(proposed.id(), id);
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a call does nothing until it is proposed"]
pub struct ToolCallWriter {
    ctx: DispatchContext,
    /// `None` once the call is proposed: its record ends the text.
    text: Option<TextRef>,
    shared_id: Arc<str>,
    id: Id,
    ordinal: u64,
}

impl ToolCallWriter {
    fn new(ctx: &DispatchContext) -> Self {
        let (id, ordinal) = ctx.turn().journal().next_call();
        let shared_id = id.shared();
        let kind = TextKind::ToolCall {
            tool: Arc::default(),
        };
        let text = ctx.turn().hub().open_text(kind, Arc::clone(&shared_id));
        ToolCallWriter {
            ctx: ctx.clone(),
            text: Some(text),
            shared_id,
            id,
            ordinal,
        }
    }

    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.shared_id
    }

    /// Sets the name of the tool, or appends to it.
    pub fn name(&mut self, piece: impl AsRef<str>) {
        if let Some(text) = &self.text {
            self.ctx.turn().hub().name_tool(text, piece.as_ref());
        }
    }

    /// Adds a piece of the arguments. Yields once if a reader lags, but does not wait for it.
    pub async fn push(&mut self, piece: impl AsRef<str>) {
        if let Some(text) = &self.text
            && self.ctx.turn().hub().push_text(text, piece.as_ref())
        {
            tokio::task::yield_now().await;
        }
    }

    /// Discards the pieces so far and starts over with the same id. Readers are notified.
    pub fn restart(&mut self) {
        if let Some(text) = &self.text {
            self.ctx.turn().hub().discard_text(text);
        }
    }

    /// Ends the pieces. Returns the id and the ordinal for the proposed call, and its context.
    pub(crate) fn into_reserved(mut self) -> (DispatchContext, Id, u64) {
        self.text = None;
        (self.ctx.clone(), self.id, self.ordinal)
    }
}

impl Drop for ToolCallWriter {
    fn drop(&mut self) {
        if let Some(text) = &self.text {
            self.ctx.turn().hub().close_text(text);
        }
    }
}
