//! What a handler knows of its call.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::time::Instant;

use super::ledger::effect_key;
use crate::cancel::Cancellation;
use crate::dispatch::DispatchContext;
use crate::event::Event;
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
///         Ok::<_, turnwright_core::ToolError>(ctx.effect_key())
///     })
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ToolContext {
    dispatch: DispatchContext,
    facts: Arc<CallFacts>,
}

/// What is true of one call.
pub(super) struct CallFacts {
    pub(super) id: Arc<str>,
    pub(super) call_id: Arc<str>,
    pub(super) provider_id: Option<String>,
    pub(super) tool: Tool,
    pub(super) args: Arc<Value>,
    pub(super) ordinal: u64,
    pub(super) deadline: Option<Instant>,
    /// Made when somebody asks for it: most handlers never do.
    pub(super) cancellation: OnceLock<Cancellation>,
}

impl ToolContext {
    pub(super) fn new(dispatch: DispatchContext, facts: Arc<CallFacts>) -> Self {
        ToolContext { dispatch, facts }
    }

    /// Which call it is: the id that gates, approvals and artifacts go by.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// What was asked for: equal for equal calls.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.facts.call_id
    }

    /// The provider's own id for it, if it gave one.
    #[must_use]
    pub fn provider_id(&self) -> Option<&str> {
        self.facts.provider_id.as_deref()
    }

    /// The tool that is called.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.facts.tool
    }

    /// What the tool's author said of it.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.facts.tool.meta()
    }

    /// The checked arguments as JSON.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.facts.args
    }

    /// Unique for this call and the same after a crash: an idempotency key for whatever the tool calls.
    #[must_use]
    pub fn effect_key(&self) -> String {
        effect_key(
            self.dispatch.turn_id(),
            self.facts.ordinal,
            &self.facts.call_id,
        )
    }

    /// When its time is over.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.facts.deadline
    }

    /// What calls this call off: its dispatch's cancellation, or its own deadline.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        self.facts
            .cancellation
            .get_or_init(|| self.dispatch.cancellation().child())
    }

    /// Says how far it is.
    pub fn progress(&self, message: impl Into<String>) {
        self.dispatch
            .events()
            .tell(|| Event::ToolExecutionProgress {
                id: Arc::clone(&self.facts.id),
                call_id: Arc::clone(&self.facts.call_id),
                tool: self.facts.tool.name().into(),
                message: message.into(),
            });
    }
}

impl Deref for ToolContext {
    type Target = DispatchContext;

    fn deref(&self) -> &DispatchContext {
        &self.dispatch
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("id", &self.facts.id)
            .field("tool", &self.facts.tool.name())
            .finish_non_exhaustive()
    }
}
