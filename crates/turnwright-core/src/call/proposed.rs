//! Proposed calls.

use std::fmt;
use std::sync::Arc;

use crate::dispatch::ToolCallWriter;
use crate::error::Error;
use crate::ids::Id;
use crate::record::{ProviderState, Record, ResponseRef, ToolCall};
use crate::schema::RawArgs;
use crate::tool::context::{DispatchContext, TurnContext};

/// A tool call. The type parameter is the stage that it has reached; a call that is not [`Proposed`] exists only inside of the
/// framework. Each stage consumes the call of the previous one.
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let greet = Tool::dynamic("greet", json!({ "type": "object" }))
///     .description("Greets.")
///     .handler(|_: Value, _: ToolContext| async { "Hello!" })
///     .build()?;
/// let ctx = DispatchContext::builder().tools(ToolRegistry::new([greet])?).build();
///
/// // The provider's id of the call is sent back with its result.
/// let proposed = ctx.propose("greet", "{}").with_provider_id("call_7f3a");
/// let call = proposed.complete().await;
/// assert_eq!(call.text().await.as_deref(), Some("Hello!"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[must_use = "a call does nothing until it is completed"]
pub struct Call<S = Proposed> {
    pub(super) ctx: DispatchContext,
    /// The record, which is open until the call is settled.
    pub(super) record: Arc<ToolCall>,
    /// Whether the record is stored.
    pub(super) recorded: bool,
    pub(super) stage: S,
}

/// The stage of a [`Call`] that a model or code has proposed. Nothing has been checked yet.
#[derive(Debug)]
pub struct Proposed {
    pub(super) empty_args_as_object: bool,
}

impl DispatchContext {
    /// Proposes a call.
    pub fn propose(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Call {
        Call::new(self.clone(), tool.into().into(), args.into())
    }
}

impl ToolCallWriter {
    /// Proposes the call with its reserved id and its complete name and arguments. See [`DispatchContext::propose`].
    pub fn propose(self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Call {
        let (ctx, id, ordinal) = self.into_reserved();
        Call::with_id(ctx, (id, ordinal), tool.into().into(), args.into())
    }
}

impl Call {
    pub(super) fn new(ctx: DispatchContext, name: Arc<str>, raw: RawArgs) -> Self {
        let ids = ctx.turn().journal().next_call();
        Call::with_id(ctx, ids, name, raw)
    }

    fn with_id(ctx: DispatchContext, ids: (Id, u64), name: Arc<str>, raw: RawArgs) -> Self {
        let record = Arc::new(ToolCall::proposed(ids.0, ids.1, name, raw));
        Call::of(ctx, record, false)
    }

    pub(super) fn of(ctx: DispatchContext, record: Arc<ToolCall>, empty_args: bool) -> Self {
        Call {
            ctx,
            record,
            recorded: true,
            stage: Proposed {
                empty_args_as_object: empty_args,
            },
        }
    }

    pub(super) fn record_mut(&mut self) -> &mut ToolCall {
        Arc::make_mut(&mut self.record)
    }

    /// Sets the checksum of a call that is not checked.
    pub(super) fn with_raw_checksum(mut self) -> Self {
        let checksum = self.record.raw_checksum();
        self.record_mut().checksum = checksum;
        self
    }

    /// Sets the provider's id of the call. It is only used in the protocol.
    pub fn with_provider_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.record_mut().provider_id = Some(id.into());
        self
    }

    /// Sets the model response that proposed the call. All records of a response share it.
    pub fn with_response(mut self, response: ResponseRef) -> Self {
        self.record_mut().response = Some(response);
        self
    }

    /// Sets the state that the provider expects back with the call.
    pub fn with_provider_state(mut self, state: ProviderState) -> Self {
        self.record_mut().provider_state = Some(state);
        self
    }

    /// Treats arguments that are empty, blank or `null` as `{}` and records that as a repair. Use it for calls of a complete
    /// response: models omit arguments if there are none.
    pub fn empty_args_as_object(mut self) -> Self {
        self.stage.empty_args_as_object = true;
        self
    }

    /// Records the call as incomplete, because the response that proposed it was truncated. Nothing is checked or run, whatever
    /// the arguments look like. The event stream gets [`ToolCallIncomplete`](crate::event::EventKind::ToolCallIncomplete).
    ///
    /// # Errors
    /// Returns `E_STORE_ERROR` if the record could not be stored.
    pub async fn record_incomplete(self) -> Result<Arc<ToolCall>, Error> {
        let Call { ctx, record, .. } = self.with_raw_checksum();
        let record = record.with_short_args().cut_off();
        ctx.turn()
            .write(vec![Record::ToolCall(Arc::clone(&record))])
            .await?;
        Ok(record)
    }
}

impl<S> Call<S> {
    /// Returns the call id, which is unique in the conversation.
    #[must_use]
    pub fn id(&self) -> &str {
        self.record.id()
    }

    pub(super) fn turn(&self) -> &TurnContext {
        self.ctx.turn()
    }

    /// Moves the call to its next stage.
    pub(super) fn enter<T>(self, next: impl FnOnce(S) -> T) -> Call<T> {
        Call {
            ctx: self.ctx,
            record: self.record,
            recorded: self.recorded,
            stage: next(self.stage),
        }
    }
}

impl<S> fmt::Debug for Call<S> {
    /// Omits the arguments, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("id", &self.id())
            .field("tool", &self.record.tool())
            .finish_non_exhaustive()
    }
}
