//! What a handler knows of its call.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::time::Instant;

use super::dispatch::DispatchContext;
use crate::cancel::Cancellation;
use crate::checksum::{Hex, idempotency_key};
use crate::deadline::{TimeLimit, Waits};
use crate::error::Error;
use crate::event::{EventKind, TurnEvent};
use crate::gate::TurnGate;
use crate::record::CallRequest;
use crate::schema::CheckedArgs;
use crate::tool::{Meta, Tool};

/// The context of one call, given to its handler by value: all of the [`DispatchContext`], and what belongs to the call
/// alone.
///
/// ```
/// use turnwright_core::{Tool, ToolContext};
/// use serde_json::{Value, json};
///
/// let tool = Tool::dynamic("pay", json!({ "type": "object" }))
///     .description("Pays the bill.")
///     .handler(|_args: Value, ctx: ToolContext| async move {
///         ctx.progress("calling the bank");
///         ctx.stash().set("paid", true)?;
///         // Hand this to the bank as its idempotency key:
///         Ok::<_, turnwright_core::ToolError>(ctx.idempotency_key())
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

    /// Opens a gate and waits until somebody outside of the turn settles it. The time that this takes does not count
    /// against the call's own.
    ///
    /// # Errors
    /// As [`TurnContext::wait_for`](crate::TurnContext::wait_for).
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        let _waiting = self.0.waits.begin();
        self.wait_for_call(gate, Some(self.id().into())).await
    }

    /// What calls this call off: its dispatch's cancellation, or its own deadline.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        let dispatch = self.0.call.ctx.cancellation();
        self.0.cancellation.get_or_init(|| dispatch.child())
    }

    /// Says how far it is.
    pub fn progress(&self, message: impl Into<String>) {
        let message = message.into();
        self.emit_now(|| TurnEvent::ToolCallProgress {
            id: self.0.call.id.shared(),
            message: message.clone(),
        });
        self.tell(|| EventKind::ToolExecutionProgress {
            id: self.0.call.id.shared(),
            checksum: self.0.checksum.shared(),
            tool: Arc::clone(&self.0.call.name),
            message,
        });
    }
}

impl Deref for ToolContext {
    type Target = DispatchContext;

    fn deref(&self) -> &DispatchContext {
        &self.0.call.ctx
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
            ctx.inner().nonce.get().and_then(Option::as_deref),
        )
    }
}
