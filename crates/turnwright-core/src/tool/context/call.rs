//! The context of a call.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::dispatch::DispatchContext;
use super::outer::Reads;
use super::turn::TurnContext;
use super::turn_records::TurnRecords;
use crate::cancel::Cancellation;
use crate::checksum::digest_of;
use crate::deadline::{TimeLimit, Waits};
use crate::effects::Effects;
use crate::error::Error;
use crate::event::{EventKind, Level, LogEntry};
use crate::gate::{TurnGate, Waiter};
use crate::principal::Principal;
use crate::record::{Exposure, ToolCall};
use crate::schema::CheckedArgs;
use crate::stash::Stash;
use crate::store::ConversationId;
use crate::tool::Tool;

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
pub struct ToolContext(Arc<Inner>);

struct Inner {
    ctx: DispatchContext,
    /// The open record of the call.
    record: Arc<ToolCall>,
    tool: Tool,
    args: CheckedArgs,
    /// Whether a policy or an approver replaced the proposed arguments.
    edited: bool,
    start: Instant,
    /// Created on demand: most handlers never use it.
    cancellation: OnceLock<Cancellation>,
    /// Time spent waiting at gates, which does not count towards the timeout.
    waits: Waits,
    reads: Arc<Reads>,
}

impl ToolContext {
    /// Creates the context of a call that starts now.
    pub(crate) fn new(
        ctx: DispatchContext,
        record: Arc<ToolCall>,
        tool: Tool,
        args: CheckedArgs,
        edited: bool,
    ) -> Self {
        ToolContext(Arc::new(Inner {
            reads: Reads::of(&tool, ctx.turn()),
            ctx,
            record,
            tool,
            args,
            edited,
            start: Instant::now(),
            cancellation: OnceLock::new(),
            waits: Waits::default(),
        }))
    }

    /// Returns the open record of the call.
    pub(crate) fn record(&self) -> &Arc<ToolCall> {
        &self.0.record
    }

    pub(crate) fn checked_args(&self) -> &CheckedArgs {
        &self.0.args
    }

    /// Returns the arguments that run, if they are not the proposed ones.
    pub(crate) fn edited_args(&self) -> Option<Value> {
        self.0.edited.then(|| self.args().clone())
    }

    /// What the call has read.
    pub(crate) fn reads(&self) -> &Arc<Reads> {
        &self.0.reads
    }

    /// Returns the time limit of the handler.
    pub(crate) fn time_limit(&self) -> TimeLimit<'_> {
        TimeLimit {
            start: self.0.start,
            limit: self.0.tool.timeout(),
            waits: Some(&self.0.waits),
        }
    }

    /// Returns the call id, as used by gates, approvals and artifacts.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.record.id()
    }

    /// Returns the checksum. Equal calls have equal checksums.
    #[must_use]
    pub fn checksum(&self) -> &str {
        self.0.record.checksum()
    }

    /// Returns the tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.0.tool
    }

    /// Returns the checked arguments as JSON.
    #[must_use]
    pub fn args(&self) -> &Value {
        self.0.args.value()
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
        self.turn().exposure().and(self.0.reads.so_far())
    }

    /// Returns the idempotency key: unique for this call and the same after a resume. Pass it to the APIs that the tool calls.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        self.0.ctx.idempotency_key(&self.0.record)
    }

    /// Returns the deadline, as of now. Waiting at a gate extends it.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let limit = self.0.tool.timeout()?;
        let deadline = self.0.start.checked_add(limit)?;
        deadline.checked_add(self.0.waits.so_far())
    }

    /// Opens a gate of this call and waits until it is settled from outside the turn. The wait does not count towards the timeout
    /// of the call. (That of [`TurnContext::wait_for`] does, and its gate does not belong to the call.)
    ///
    /// # Errors
    /// See [`TurnContext::wait_for`].
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        let _waiting = self.0.waits.begin();
        let read_only = self.tool().effects() == Effects::ReadOnly && !gate.keep_in_process;
        let waiter = Waiter::Handler { read_only };
        let call = Some(self.id().into());
        self.turn().wait_for_call(gate, call, waiter).await
    }

    /// Returns the cancellation token of this call. It is cancelled when the turn is cancelled and when the call times out. (That
    /// of [`TurnContext::cancellation`] is cancelled only with the turn.)
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        let dispatch = self.0.ctx.cancellation();
        self.0.cancellation.get_or_init(|| dispatch.child())
    }

    /// Reports progress.
    pub fn progress(&self, message: impl Into<String>) {
        self.turn().emit(|| EventKind::ToolExecutionProgress {
            id: self.id().into(),
            checksum: self.checksum().into(),
            tool: Arc::clone(&self.0.record.tool),
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

    /// Logs a message for operators: a text, or a [`LogEntry`] with a kind and data.
    pub fn log(&self, level: Level, entry: impl Into<LogEntry>) {
        self.turn().log(level, entry);
    }
}

debug_fields!(ToolContext { id(), tool() });

impl DispatchContext {
    /// Returns the idempotency key of a call: unique, and the same after a resume.
    ///
    /// It is a digest, because ids are arbitrary text: with a separator, two calls could get the same key. Keys also go to
    /// third parties, who should not see the ids. The nonce is random per turn, so that ids that are reused after a
    /// conversation was deleted give different keys.
    pub(crate) fn idempotency_key(&self, call: &ToolCall) -> String {
        let (conversation_id, turn_id) = (self.conversation_id().as_str(), self.turn().turn_id());
        let (ordinal, checksum) = (call.ordinal(), call.checksum());
        digest_of(&match self.turn().nonce() {
            Some(nonce) => json!([conversation_id, turn_id, ordinal, checksum, nonce]),
            None => json!([conversation_id, turn_id, ordinal, checksum]),
        })
    }
}
