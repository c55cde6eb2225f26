//! Calls of which nobody knows whether they took effect: they were begun, and their process ended before they did.
//!
//! When their turn is [taken up again](crate::TurnRunner::resume), the tool is asked first, if it can say
//! ([`ToolBuilder::reconcile`](crate::tool::ToolBuilder::reconcile)), and then the policy of the runner
//! ([`unknown_calls`](crate::runner::TurnRunnerBuilder::unknown_calls)): [`ask_operator`], or your own. What neither knows stays
//! *unknown*, and the model is told so.
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
//!         // The bank knows each payment by this key …
//!         format!("paid as {}", ctx.idempotency_key())
//!     })
//!     .reconcile(|call: UnknownCall| async move {
//!         // … and so can be asked whether it came to pass.
//!         Ok::<_, BoxError>(match bank(call.idempotency_key()).await? {
//!             Some(receipt) => Finding::done(receipt),
//!             None => Finding::NotDone,
//!         })
//!     })
//!     .build()?;
//! # Ok::<(), turnwright_core::Error>(())
//! ```

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::error::{BoxError, Error};
use crate::gate::{GateKind, TurnGate, Waiter};
use crate::record::{LedgerEntry, time_text};
use crate::schema::{object, string};
use crate::tool::ToolOutput;
use crate::tool::context::DispatchContext;

/// A call that had begun when its process ended. A handle.
#[derive(Clone, Debug)]
pub struct UnknownCall {
    ctx: DispatchContext,
    line: Arc<LedgerEntry>,
}

impl UnknownCall {
    pub(crate) fn new(ctx: &DispatchContext, line: &Arc<LedgerEntry>) -> Self {
        UnknownCall {
            ctx: ctx.clone(),
            line: Arc::clone(line),
        }
    }

    /// Which call it is.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.line.tool_call
    }

    /// The key that its handler had: an idempotency key for whatever the tool calls.
    #[must_use]
    pub fn idempotency_key(&self) -> &str {
        self.line.id()
    }

    /// The tool's name.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.line.tool
    }

    /// The tool's fingerprint when it ran.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.line.fingerprint
    }

    /// The arguments that it ran with.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.line.args
    }

    /// When it was about to run.
    #[must_use]
    pub fn begun_at(&self) -> SystemTime {
        self.line.begun_at
    }

    /// Returns the runner's state of this type: see [`TurnContext::state`](crate::TurnContext::state).
    ///
    /// # Errors
    /// `E_MISSING_STATE` if the runner has none.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        self.ctx.state()
    }

    /// Returns the dispatch that resumes the call's turn.
    #[must_use]
    pub fn dispatch(&self) -> &DispatchContext {
        &self.ctx
    }

    /// Opens a gate of this call and waits until it is settled from outside of the turn. Ask about the time that it was begun
    /// at: a call that is run again may be unknown again, and then an answer to the same question counts as the answer.
    ///
    /// # Errors
    /// As [`TurnContext::wait_for`](crate::TurnContext::wait_for).
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        let call = Some(self.id().into());
        let waiter = Waiter::Reconcile;
        self.ctx.turn().wait_for_call(gate, call, waiter).await
    }
}

/// What was found out about a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Finding {
    /// It took effect, and this is what came of it.
    Done(ToolOutput),
    /// It did not take effect, and never will: it is run again, with its arguments checked again. A process that was only away,
    /// and not gone, may still be about to act. Whoever can should make the idempotency key void where it is looked up, so that
    /// what comes late is refused.
    NotDone,
    /// Nobody can say.
    Unknown,
}

impl Finding {
    /// It took effect, and this text came of it.
    pub fn done(text: impl Into<String>) -> Self {
        Finding::Done(ToolOutput::text(text))
    }
}

/// Finds out what became of calls. A closure from [`UnknownCall`] to a future of a [`Finding`] is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot find out whether a call took effect",
    label = "expected an async function over `UnknownCall`",
    note = "write `async fn find(call: UnknownCall) -> Result<Finding, BoxError>`, with the types of `turnwright::reconcile`"
)]
#[async_trait]
pub trait Reconcile: Send + Sync {
    /// What became of this call. An error counts as [`Finding::Unknown`], and operators are told.
    ///
    /// # Errors
    /// Whatever kept it from finding out.
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

/// Asks at a gate: see [`ask_operator`].
#[derive(Clone, Debug)]
#[must_use = "a policy does nothing until a runner has it"]
pub struct AskOperator {
    timeout: Option<Duration>,
}

/// Asks at a gate of the turn, of kind [`GateKind::UnknownCall`]. The question is `{"tool", "args", "idempotencyKey", "begunAt"}`, an answer
/// `{"found": "done", "result": text}` (`result` may be left out), `{"found": "not_done"}` or `{"found": "unknown"}`. Where nobody
/// is there, or nobody answers, it stays unknown.
pub fn ask_operator() -> AskOperator {
    AskOperator { timeout: None }
}

impl AskOperator {
    /// How long they have. Until the turn ends unless told.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    fn gate(&self, call: &UnknownCall) -> Result<TurnGate, Error> {
        let found = string().one_of_values(["done", "not_done", "unknown"]);
        let result = string().description("What came of it, for the model, where it was done.");
        let answer = object()
            .field("found", found.required())
            .field("result", result);
        let gate = TurnGate::new(GateKind::UnknownCall)
            .schema(answer)
            .question(json!({
                "tool": call.tool_name(), "args": call.args(),
                "idempotencyKey": call.idempotency_key(), "begunAt": time_text(call.begun_at()),
            }));
        match self.timeout {
            Some(limit) => gate.timeout(limit).build(),
            None => gate.build(),
        }
    }
}

#[async_trait]
impl Reconcile for AskOperator {
    async fn reconcile(&self, call: UnknownCall) -> Result<Finding, BoxError> {
        let answer = call.wait_for(self.gate(&call)?).await?;
        Ok(match answer.get("found").and_then(Value::as_str) {
            Some("done") => {
                let result = answer.get("result").and_then(Value::as_str);
                let result = result.unwrap_or("Somebody looked: the call took effect.");
                Finding::done(result)
            }
            Some("not_done") => Finding::NotDone,
            _ => Finding::Unknown,
        })
    }
}
