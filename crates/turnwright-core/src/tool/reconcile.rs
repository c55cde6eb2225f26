//! Recovery of calls that were running when their process died, so that it is unknown whether they took effect.
//!
//! When their turn is [resumed](crate::TurnRunner::resume), the tool's own function is asked first
//! ([`ToolBuilder::reconcile`](crate::tool::ToolBuilder::reconcile)), then the policy of the runner
//! ([`unknown_calls`](crate::runner::TurnRunnerBuilder::unknown_calls)): [`ask_operator`] or your own. If neither knows, the call
//! stays *unknown*, and the model is informed.
//!
//! ```
//! use serde_json::{Value, json};
//! use turnwright_core::tool::reconcile::{Finding, UnknownCall};
//! use turnwright_core::{BoxError, Tool, ToolContext};
//! # async fn bank(_: &str) -> Result<Option<String>, BoxError> { Ok(None) }
//!
//! let pay = Tool::dynamic("pay", json!({ "type": "object" }))
//!     .description("Pays the bill.")
//!     .handler(|_: Value, ctx: ToolContext| async move {
//!         // The bank identifies each payment by this key …
//!         format!("paid as {}", ctx.idempotency_key())
//!     })
//!     .reconcile(|call: UnknownCall| async move {
//!         // … so it can tell whether the payment was made.
//!         Ok::<_, BoxError>(match bank(call.idempotency_key()).await? {
//!             Some(receipt) => Finding::done(receipt),
//!             None => Finding::NotDone,
//!         })
//!     })
//!     .build()?;
//! # Ok::<(), turnwright_core::Error>(())
//! ```

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::error::{BoxError, Error};
use crate::gate::{GateKind, TurnGate, Waiter};
use crate::record::{LedgerEntry, time_text};
use crate::schema::{object, string};
use crate::tool::ToolOutput;
use crate::tool::context::DispatchContext;

/// A call that was running when its process died. A handle.
#[derive(Clone, Debug)]
pub struct UnknownCall {
    ctx: DispatchContext,
    entry: Arc<LedgerEntry>,
}

impl UnknownCall {
    pub(crate) fn new(ctx: &DispatchContext, entry: &Arc<LedgerEntry>) -> Self {
        UnknownCall {
            ctx: ctx.clone(),
            entry: Arc::clone(entry),
        }
    }

    /// Returns the call id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.entry.tool_call
    }

    /// Returns the idempotency key that the handler had.
    #[must_use]
    pub fn idempotency_key(&self) -> &str {
        self.entry.id()
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.entry.tool
    }

    /// Returns the arguments that it ran with.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.entry.args
    }

    /// Returns when the call was about to start.
    #[must_use]
    pub fn started_at(&self) -> SystemTime {
        self.entry.started_at
    }

    /// Returns the dispatch that resumes the turn of the call.
    #[must_use]
    pub fn dispatch(&self) -> &DispatchContext {
        &self.ctx
    }

    /// Opens a gate of this call and waits until it is settled from outside the turn. Include the start time in the question: a
    /// call that is run again may become unknown again, and an answer to an equal question is reused.
    ///
    /// # Errors
    /// See [`TurnContext::wait_for`](crate::TurnContext::wait_for).
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        let call = Some(self.id().into());
        let waiter = Waiter::Reconcile;
        self.ctx.turn().wait_for_call(gate, call, waiter).await
    }
}

/// The result of reconciling a call.
///
/// ```
/// use turnwright_core::BoxError;
/// use turnwright_core::tool::reconcile::{Finding, UnknownCall};
/// # async fn receipt_for(_key: &str) -> Result<Option<String>, BoxError> { Ok(None) }
///
/// async fn find_payment(call: UnknownCall) -> Result<Finding, BoxError> {
///     Ok(match receipt_for(call.idempotency_key()).await? {
///         Some(receipt) => Finding::done(receipt),
///         None => Finding::NotDone,
///     })
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Finding {
    /// The call took effect and has this result.
    Done(ToolOutput),
    /// The call did not take effect and never will. It is run again, with its arguments checked again. A process that was only
    /// suspended may still be about to act. If possible, invalidate the idempotency key in the downstream system, so that a late
    /// request is rejected.
    NotDone,
    /// Unknown.
    Unknown,
}

impl Finding {
    /// Creates the finding that the call took effect and has this text as its result.
    pub fn done(text: impl Into<String>) -> Self {
        Finding::Done(ToolOutput::text(text))
    }
}

/// Finds out whether calls took effect. Implemented for async closures from [`UnknownCall`] to [`Finding`].
///
/// ```
/// use async_trait::async_trait;
/// use turnwright_core::tool::reconcile::{Finding, Reconcile, UnknownCall};
/// use turnwright_core::{BoxError, DispatchContext};
///
/// /// Runs calls of these tools again, because repeating them is harmless.
/// struct Repeatable(&'static [&'static str]);
///
/// #[async_trait]
/// impl Reconcile for Repeatable {
///     async fn reconcile(&self, call: UnknownCall) -> Result<Finding, BoxError> {
///         Ok(match self.0.contains(&call.tool_name()) {
///             true => Finding::NotDone,
///             false => Finding::Unknown,
///         })
///     }
/// }
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let runner = turnwright_core::runner(executor).unknown_calls(Repeatable(&["set_status"])).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot find out whether a call took effect",
    label = "expected an async function over `UnknownCall`",
    note = "write `async fn find(call: UnknownCall) -> Result<Finding, BoxError>`, with the types of `turnwright::reconcile`"
)]
#[async_trait]
pub trait Reconcile: Send + Sync {
    /// Finds out whether this call took effect. An error counts as [`Finding::Unknown`] and is reported to operators.
    ///
    /// # Errors
    /// Returns any error that prevents an answer.
    async fn reconcile(&self, call: UnknownCall) -> Result<Finding, BoxError>;
}

#[async_trait]
impl<F, Fut, E> Reconcile for F
where
    F: Fn(UnknownCall) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Finding, E>> + Send,
    E: Into<BoxError>,
{
    async fn reconcile(&self, call: UnknownCall) -> Result<Finding, BoxError> {
        self(call).await.map_err(Into::into)
    }
}

/// Asks at a gate of the turn, of kind [`GateKind::UnknownCall`]. The question is `{"tool", "args", "idempotencyKey",
/// "startedAt"}`. The answer is `{"found": "done", "result": text}` (`result` is optional), `{"found": "not_done"}` or `{"found":
/// "unknown"}`. Without an answer the call stays unknown.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::tool::reconcile::ask_operator;
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let runner = turnwright_core::runner(executor).unknown_calls(ask_operator()).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub fn ask_operator() -> impl Reconcile {
    |call: UnknownCall| async move {
        let found = string().one_of_values(["done", "not_done", "unknown"]);
        let result = string().description("The result of the call for the model, if it was done.");
        let answer = object()
            .field("found", found.required())
            .field("result", result);
        let gate = TurnGate::new(GateKind::UnknownCall)
            .schema(answer)
            .question(json!({
                "tool": call.tool_name(), "args": call.args(),
                "idempotencyKey": call.idempotency_key(), "startedAt": time_text(call.started_at()),
            }));
        let answer = call.wait_for(gate.build()?).await?;
        Ok::<_, BoxError>(match answer.get("found").and_then(Value::as_str) {
            Some("done") => {
                let result = answer.get("result").and_then(Value::as_str);
                let result = result.unwrap_or("An operator confirmed that the call took effect.");
                Finding::done(result)
            }
            Some("not_done") => Finding::NotDone,
            _ => Finding::Unknown,
        })
    }
}
