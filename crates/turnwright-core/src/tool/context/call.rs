//! The context of a call.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::dispatch::DispatchContext;
use super::outer::Reads;
use super::turn::TurnContext;
use super::turn_records::TurnRecords;
use crate::cancel::Cancellation;
use crate::checksum::{Hex, digest_of};
use crate::deadline::{TimeLimit, Waits};
use crate::effects::Effects;
use crate::error::Error;
use crate::event::{EventKind, Level, LogEntry};
use crate::gate::{TurnGate, Waiter};
use crate::principal::Principal;
use crate::record::{CallRequest, Exposure};
use crate::schema::CheckedArgs;
use crate::stash::Stash;
use crate::store::ConversationId;
use crate::tool::{Meta, Tool};

/// The context of one call, passed to its handler by value: the call itself, and the most common operations of its turn.
///
/// [`dispatch`](Self::dispatch) and [`turn`](Self::turn) give access to everything else. Call a function that takes
/// `&TurnContext` with `ctx.turn()`.
///
/// ```
/// use turnwright_core::Tool;
/// use serde_json::json;
///
/// let tool = Tool::dynamic("pay", json!({ "type": "object" }))
///     .description("Pays the bill.")
///     .handler(async |_args, ctx| {
///         ctx.progress("calling the bank");
///         ctx.stash().set("paid", true)?;
///         // Pass this to the bank as the idempotency key:
///         Ok(ctx.idempotency_key())
///     })
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ToolContext(Arc<Call<Running>>);

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
    pub(crate) ctx: DispatchContext,
    /// Boxed, so that the stages move only a pointer.
    pub(crate) request: Box<CallRequest>,
    /// Whether the call is recorded.
    pub(crate) recorded: bool,
    pub(crate) stage: S,
}

/// The stage of a [`Call`] that a model or code has proposed. Nothing has been checked yet.
#[derive(Debug)]
pub struct Proposed;

/// The stage of a call whose handler runs or has run.
pub(crate) struct Running {
    pub(crate) tool: Tool,
    pub(crate) checksum: Hex,
    pub(crate) args: CheckedArgs,
    /// Whether a policy or an approver replaced the proposed arguments.
    pub(crate) edited: bool,
    pub(crate) deadline: Option<Instant>,
    /// Created on demand: most handlers never use it.
    pub(crate) cancellation: OnceLock<Cancellation>,
    /// Time spent waiting at gates, which does not count towards the timeout.
    pub(crate) waits: Waits,
    /// What the call has read.
    pub(crate) reads: Arc<Reads>,
}

impl<S> Call<S> {
    /// Returns the call id, which is unique in the conversation.
    #[must_use]
    pub fn id(&self) -> &str {
        self.request.id.as_str()
    }

    pub(crate) fn turn(&self) -> &TurnContext {
        self.ctx.turn()
    }

    /// Moves the call to its next stage.
    pub(crate) fn enter<T>(self, next: impl FnOnce(S) -> T) -> Call<T> {
        Call {
            ctx: self.ctx,
            request: self.request,
            recorded: self.recorded,
            stage: next(self.stage),
        }
    }

    /// Returns the idempotency key of a call with this checksum: unique, and the same after a resume.
    ///
    /// It is a digest, because ids are arbitrary text: with a separator, two calls could get the same key. Keys also go to
    /// third parties, who should not see the ids. The nonce is random per turn, so that ids that are reused after a
    /// conversation was deleted give different keys.
    pub(crate) fn idempotency_key(&self, checksum: &Hex) -> String {
        let (conversation_id, turn_id) = (self.ctx.conversation_id().as_str(), self.ctx.turn_id());
        let (ordinal, checksum) = (self.request.ordinal, checksum.as_str());
        digest_of(&match self.turn().nonce() {
            Some(nonce) => json!([conversation_id, turn_id, ordinal, checksum, nonce]),
            None => json!([conversation_id, turn_id, ordinal, checksum]),
        })
    }
}

impl Running {
    /// Creates the stage of a call that starts now.
    pub(crate) fn new(
        turn: &TurnContext,
        (tool, args): (Tool, CheckedArgs),
        checksum: Hex,
        edited: bool,
        start: Instant,
    ) -> Self {
        Running {
            reads: Reads::of(&tool, turn),
            deadline: tool.timeout().and_then(|limit| start.checked_add(limit)),
            tool,
            checksum,
            args,
            edited,
            cancellation: OnceLock::new(),
            waits: Waits::default(),
        }
    }

    /// Returns the time limit.
    pub(crate) fn time(&self, start: Instant) -> TimeLimit<'_> {
        TimeLimit {
            start,
            limit: self.tool.timeout(),
            waits: Some(&self.waits),
        }
    }
}

impl ToolContext {
    pub(crate) fn new(call: Arc<Call<Running>>) -> Self {
        ToolContext(call)
    }

    pub(crate) fn reads(&self) -> &Arc<Reads> {
        &self.0.stage.reads
    }

    /// Returns the call id, as used by gates, approvals and artifacts.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// Returns the checksum. Equal calls have equal checksums.
    #[must_use]
    pub fn checksum(&self) -> &str {
        self.0.stage.checksum.as_str()
    }

    /// Returns the provider's id of the call, if there is one.
    #[must_use]
    pub fn provider_id(&self) -> Option<&str> {
        self.0.request.provider_id.as_deref()
    }

    /// Returns the tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.0.stage.tool
    }

    /// Returns the metadata of the tool.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.0.stage.tool.meta()
    }

    /// Returns the checked arguments as JSON.
    #[must_use]
    pub fn args(&self) -> &Value {
        self.0.stage.args.value()
    }

    /// Returns what a record is exposed to that this call writes: what is in the prompt, what the labels of the tool say, and what
    /// turns under the call have read so far. The records of the turn get it when they are stored. Set it for a memory that goes
    /// into another conversation:
    ///
    /// ```
    /// use turnwright_core::record::Memory;
    /// use turnwright_core::store::{ConversationId, StoreExt as _};
    /// use turnwright_core::{ToolContext, ToolError};
    ///
    /// async fn remember(text: String, ctx: ToolContext) -> Result<&'static str, ToolError> {
    ///     let memory = Memory::new(text).exposure(ctx.exposure()).build()?;
    ///     let profile = ConversationId::new("profile-of-ada");
    ///     ctx.turn().storage().store().put(&profile, memory).await?;
    ///     Ok("remembered")
    /// }
    /// ```
    #[must_use]
    pub fn exposure(&self) -> Exposure {
        self.turn().exposure().and(self.0.stage.reads.so_far())
    }

    /// Returns the idempotency key: unique for this call and the same after a resume. Pass it to the APIs that the tool calls.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        self.0.idempotency_key(&self.0.stage.checksum)
    }

    /// Returns the deadline, as of now. Waiting at a gate extends it.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0
            .stage
            .deadline?
            .checked_add(self.0.stage.waits.so_far())
    }

    /// Opens a gate of this call and waits until it is settled from outside the turn. The wait does not count towards the timeout
    /// of the call. (That of [`TurnContext::wait_for`] does, and its gate does not belong to the call.)
    ///
    /// # Errors
    /// See [`TurnContext::wait_for`].
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        let _waiting = self.0.stage.waits.begin();
        let read_only = self.tool().effects() == Effects::ReadOnly && !gate.keeps_in_process;
        let waiter = Waiter::Handler { read_only };
        let call = Some(self.id().into());
        self.turn().wait_for_call(gate, call, waiter).await
    }

    /// Returns the cancellation token of this call. It is cancelled when the turn is cancelled and when the call times out. (That
    /// of [`TurnContext::cancellation`] is cancelled only with the turn.)
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        let dispatch = self.0.ctx.cancellation();
        self.0.stage.cancellation.get_or_init(|| dispatch.child())
    }

    /// Reports progress.
    pub fn progress(&self, message: impl Into<String>) {
        self.turn().emit(|| EventKind::ToolExecutionProgress {
            id: self.0.request.id.shared(),
            checksum: self.0.stage.checksum.shared(),
            tool: Arc::clone(&self.0.request.name),
            message: message.into(),
        });
    }
}

/// The most common operations of the dispatch and the turn. Use [`ToolContext::dispatch`] and [`ToolContext::turn`] for the
/// others.
impl ToolContext {
    /// Returns the dispatch in which the call runs.
    #[must_use]
    pub fn dispatch(&self) -> &DispatchContext {
        &self.0.ctx
    }

    /// Returns the turn in which the call runs. Its `wait_for` and `cancellation` belong to the turn, not to the call: waiting
    /// there counts towards the timeout of the call, and the token is not cancelled on timeout.
    #[must_use]
    pub fn turn(&self) -> &TurnContext {
        self.dispatch().turn()
    }

    /// Returns the turn's id.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        self.turn().turn_id()
    }

    /// Returns the conversation that the turn belongs to.
    #[must_use]
    pub fn conversation_id(&self) -> &ConversationId {
        self.turn().conversation_id()
    }

    /// Returns who the turn acts for: see [`TurnInput::principal`](crate::TurnInput::principal).
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.turn().principal()
    }

    /// Returns a handle to the records of the turn.
    pub fn records(&self) -> TurnRecords<'_> {
        self.turn().records()
    }

    /// Returns the runner's state of this type: see [`TurnContext::state`].
    ///
    /// # Errors
    /// Returns `E_MISSING_STATE` if the runner has none. The model reads that the tool is misconfigured.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        self.turn().state()
    }

    /// Returns the turn's stash.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        self.turn().stash()
    }

    /// Checks that this process still holds the lease of the turn: see [`TurnContext::ensure_lease`].
    ///
    /// # Errors
    /// Returns `E_TURN_TAKEN_OVER` if another process has taken over; do nothing more then. Returns `E_STORE_ERROR` if the store
    /// fails.
    pub async fn ensure_lease(&self) -> Result<(), Error> {
        self.turn().ensure_lease().await
    }

    /// Logs a message for operators: a text, or a [`LogEntry`] with a kind and data.
    pub fn log(&self, level: Level, entry: impl Into<LogEntry>) {
        self.turn().log(level, entry);
    }
}

debug_fields!(ToolContext { id(), tool() });

impl<S> fmt::Debug for Call<S> {
    /// Omits the arguments, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("id", &self.id())
            .field("tool", &self.request.name)
            .finish_non_exhaustive()
    }
}
