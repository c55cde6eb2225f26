//! What a handler knows of its call.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::time::Instant;

use super::dispatch::DispatchContext;
use super::turn::TurnContext;
use super::turn_records::TurnRecords;
use crate::cancel::Cancellation;
use crate::checksum::{Hex, idempotency_key};
use crate::deadline::{TimeLimit, Waits};
use crate::effects::Effects;
use crate::error::Error;
use crate::event::{EventKind, Level, LogEntry, TurnEventKind};
use crate::gate::{TurnGate, Waiter};
use crate::record::CallRequest;
use crate::schema::CheckedArgs;
use crate::stash::Stash;
use crate::store::ConversationId;
use crate::tool::{Meta, Tool};

/// The context of one call, given to its handler by value: the call, and what handlers need every day of its turn.
///
/// [`dispatch`](Self::dispatch) and [`turn`](Self::turn) lead to everything else. A function that takes `&TurnContext` is called
/// with `ctx.turn()`.
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
///         // Hand this to the bank as its idempotency key:
///         Ok(ctx.idempotency_key())
///     })
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ToolContext(Arc<CallFacts>);

/// What is true of one call while it runs.
pub(crate) struct CallFacts {
    pub(crate) checked: Box<Checked>,
    pub(crate) deadline: Option<Instant>,
    /// Made when somebody asks for it: most handlers never do.
    pub(crate) cancellation: OnceLock<Cancellation>,
    /// Time that it spent waiting for somebody, which does not count.
    pub(crate) waits: Waits,
}

impl CallFacts {
    /// A call that starts now.
    pub(crate) fn new(checked: Box<Checked>, start: Instant) -> Self {
        let timeout = checked.tool.timeout();
        CallFacts {
            checked,
            deadline: timeout.and_then(|limit| start.checked_add(limit)),
            cancellation: OnceLock::new(),
            waits: Waits::default(),
        }
    }

    /// How long it may take.
    pub(crate) fn time(&self, start: Instant) -> TimeLimit<'_> {
        TimeLimit {
            start,
            limit: self.tool.timeout(),
            waits: Some(&self.waits),
        }
    }
}

impl Deref for CallFacts {
    type Target = Checked;

    fn deref(&self) -> &Checked {
        &self.checked
    }
}

impl ToolContext {
    pub(crate) fn new(facts: Arc<CallFacts>) -> Self {
        ToolContext(facts)
    }

    /// Which call it is: the id that gates, approvals and artifacts go by.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.call.id.as_str()
    }

    /// What was asked for: equal for equal calls.
    #[must_use]
    pub fn checksum(&self) -> &str {
        self.0.checksum.as_str()
    }

    /// The provider's own id for it, if it gave one.
    #[must_use]
    pub fn provider_id(&self) -> Option<&str> {
        self.0.call.provider_id.as_deref()
    }

    /// The tool that is called.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.0.tool
    }

    /// What the tool's author said of it.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.0.tool.meta()
    }

    /// The checked arguments as JSON.
    #[must_use]
    pub fn args(&self) -> &Value {
        self.0.args.value()
    }

    /// Unique for this call and the same after a crash: an idempotency key for whatever the tool calls.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        self.0.idempotency_key()
    }

    /// When its time is over, as far as is known now: waiting at a gate puts it off.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline?.checked_add(self.0.waits.so_far())
    }

    /// Opens a gate of this call and waits until it is settled from outside of the turn. The time that this takes does not count
    /// against the call's time limit. (That of [`TurnContext::wait_for`] does, and its gate is not the call's.)
    ///
    /// # Errors
    /// As [`TurnContext::wait_for`].
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        let _waiting = self.0.waits.begin();
        let read_only = self.tool().effects() == Effects::ReadOnly;
        let waiter = Waiter::Handler { read_only };
        let call = Some(self.id().into());
        self.turn().wait_for_call(gate, call, waiter).await
    }

    /// Returns the cancellation of this call: it fires when the turn is cancelled and when the call's time is over. (That of
    /// [`TurnContext::cancellation`] fires for the turn only.)
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        let dispatch = self.0.call.ctx.cancellation();
        self.0.cancellation.get_or_init(|| dispatch.child())
    }

    /// Says how far it is.
    pub fn progress(&self, message: impl Into<String>) {
        let message = message.into();
        self.turn().emit(|| TurnEventKind::ToolCallProgress {
            id: self.0.call.id.shared(),
            message: message.clone(),
        });
        self.turn().tell(|| EventKind::ToolExecutionProgress {
            id: self.0.call.id.shared(),
            checksum: self.0.checksum.shared(),
            tool: Arc::clone(&self.0.call.name),
            message,
        });
    }
}

/// What handlers need every day of their dispatch and turn. The rest is behind [`ToolContext::dispatch`] and
/// [`ToolContext::turn`].
impl ToolContext {
    /// Returns the dispatch in which the call runs.
    #[must_use]
    // A search of the documentation for one of these methods finds this one too.
    #[doc(alias(
        "ack",
        "answer",
        "call",
        "call_tools",
        "iteration",
        "nack",
        "on_ack",
        "propose",
        "reporter",
        "signal",
        "tools",
    ))]
    pub fn dispatch(&self) -> &DispatchContext {
        &self.0.call.ctx
    }

    /// Returns the turn in which the call runs. Its `wait_for` and `cancellation` are the turn's, not the call's: waiting there
    /// counts against the call's time limit, and the cancellation does not fire when that is over.
    #[must_use]
    // A search of the documentation for one of these methods finds this one too.
    #[doc(alias(
        "abort",
        "add_usage",
        "answer_format",
        "artifact_limits",
        "events",
        "inline_limit",
        "input",
        "outer_tools",
        "per_turn",
        "reach",
        "secret",
        "spool",
        "store",
        "taint",
        "usage",
    ))]
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

    /// Returns a handle to the records of the turn.
    #[doc(alias(
        "hydrate",
        "memories",
        "messages",
        "own_tool_calls",
        "retrievables",
        "thoughts",
        "timeline",
        "tool_calls"
    ))]
    pub fn records(&self) -> TurnRecords<'_> {
        self.turn().records()
    }

    /// Returns the runner's state of this type: see [`TurnContext::state`].
    ///
    /// # Errors
    /// `E_MISSING_STATE` if the runner has none. The model reads that the tool is misconfigured.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        self.turn().state()
    }

    /// Returns the turn's stash.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        self.turn().stash()
    }

    /// Makes sure that this process still runs the turn: see [`TurnContext::ensure_held`].
    ///
    /// # Errors
    /// `E_TURN_TAKEN_OVER`: do nothing more. `E_STORE_ERROR` if the store cannot say.
    pub async fn ensure_held(&self) -> Result<(), Error> {
        self.turn().ensure_held().await
    }

    /// Logs a message for operators: a text, or a [`LogEntry`] with a kind and data.
    pub fn log(&self, level: Level, entry: impl Into<LogEntry>) {
        self.turn().log(level, entry);
    }
}

debug_fields!(ToolContext { id(), tool() });

// Arguments may hold secrets: they are not shown.
debug_fields!(CallFacts { checked });

/// What is known of a call once it is checked.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) call: Call,
    pub(crate) tool: Tool,
    pub(crate) checksum: Hex,
    pub(crate) args: CheckedArgs,
    /// The proposed arguments were replaced by a policy or an approver.
    pub(crate) edited: bool,
}

/// What stays the same of a call from its proposal to its record.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) ctx: DispatchContext,
    pub(crate) request: CallRequest,
    /// Whether a record is made of it.
    pub(crate) recorded: bool,
}

impl Deref for Call {
    type Target = CallRequest;

    fn deref(&self) -> &CallRequest {
        &self.request
    }
}

impl Checked {
    /// The idempotency key of the call.
    pub(crate) fn idempotency_key(&self) -> String {
        let Call { ctx, request, .. } = &self.call;
        idempotency_key(
            ctx.conversation_id().as_str(),
            ctx.turn_id(),
            request.ordinal,
            self.checksum.as_str(),
            ctx.turn().inner().nonce.get().and_then(Option::as_deref),
        )
    }
}
