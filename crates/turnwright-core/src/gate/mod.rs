//! Gates: points where a turn waits for an external answer.
//!
//! Middleware and handlers wait with `ctx.wait_for(gate)`. A [`GateAnswer`] is given through the [`Gates`] of the turn. Approvals
//! are gates too: see [`crate::tool::approval`].
//!
//! ```
//! use turnwright_core::gate::TurnGate;
//! use turnwright_core::schema::{object, string};
//!
//! let _gate = TurnGate::new("delivery_address")
//!     .question("What is the delivery address?")
//!     .schema(object().field("street", string().required()))
//!     .build()?;
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod activity;
mod check;
mod gates;
mod id;
mod open_gate;
mod replay;
mod table;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;

pub use crate::record::{GateAnswer, GateDecision, GateKind};
pub use activity::TurnActivity;
pub use gates::Gates;
pub use open_gate::{GateEnd, OpenGate, TurnWaiting};

pub(crate) use activity::{Tracked, Wait, Waiter};
pub(crate) use check::{admitted, check};
pub(crate) use gates::TurnGates;
pub(crate) use id::{Step, gate_id};
pub(crate) use open_gate::GateClosed;
pub(crate) use replay::usable_answer;
pub(crate) use table::{Received, Waiting};

use crate::error::{Error, ErrorCode};
use crate::schema::{IntoSchema, Schema, SchemaError};
use crate::validate::Violations;

/// A question to an external party, and which answers are accepted.
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::gate::TurnGate;
/// use turnwright_core::schema::{object, string};
/// use turnwright_core::{ToolContext, ToolError};
///
/// async fn ship(ctx: ToolContext) -> Result<String, ToolError> {
///     let gate = TurnGate::new("delivery_address")
///         .question("What is the delivery address?")
///         .schema(object().field("street", string().required()))
///         .timeout(Duration::from_secs(24 * 60 * 60))
///         .build()?;
///     let address = ctx.wait_for(gate).await?;
///     Ok(format!("shipped to {}", address["street"]))
/// }
/// ```
#[derive(Clone)]
pub struct TurnGate {
    pub(crate) kind: GateKind,
    pub(crate) question: Arc<Value>,
    pub(crate) schema: Option<Schema>,
    pub(crate) timeout: Option<Duration>,
    /// How long a process waits here if `timeout` is `None`. It is not stored: a suspended turn waits without limit.
    pub(crate) process_timeout: Option<Duration>,
    /// Whether the turn must not be suspended while it waits here.
    pub(crate) keep_in_process: bool,
    pub(crate) accepts: Option<Arc<Accepts>>,
}

/// An additional check of an answer.
type Accepts = dyn Fn(&GateAnswer) -> Result<(), Error> + Send + Sync;

/// Builds a [`TurnGate`].
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::gate::TurnGate;
///
/// let _gate = TurnGate::new("size").question("Which size?").timeout(Duration::from_secs(60)).build()?;
/// assert!(TurnGate::new("").question("Which size?").build().is_err());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct TurnGateBuilder {
    gate: TurnGate,
    schema: Option<Result<Schema, SchemaError>>,
}

impl TurnGate {
    /// Starts a gate of this kind. A name makes it a [`GateKind::Custom`] gate.
    #[expect(
        clippy::new_ret_no_self,
        reason = "the builder validates before it creates anything"
    )]
    pub fn new(kind: impl Into<GateKind>) -> TurnGateBuilder {
        TurnGateBuilder {
            gate: TurnGate {
                kind: kind.into(),
                question: Arc::new(Value::Null),
                schema: None,
                timeout: None,
                process_timeout: None,
                keep_in_process: false,
                accepts: None,
            },
            schema: None,
        }
    }

    /// Returns how long a process waits here, if the gate was opened at this time in an earlier run.
    pub(crate) fn time_left(&self, opened_before: Option<SystemTime>) -> Option<Duration> {
        let Some(limit) = self.timeout else {
            return self.process_timeout;
        };
        let age = opened_before.and_then(|opened_at| opened_at.elapsed().ok());
        Some(limit.saturating_sub(age.unwrap_or_default()))
    }
}

impl TurnGateBuilder {
    /// Sets the question: text, or any JSON that your user interface shows.
    pub fn question(mut self, question: impl Into<Value>) -> Self {
        self.gate.question = Arc::new(question.into());
        self
    }

    /// Sets the schema of an answer, which is validated like arguments.
    ///
    /// Default: any answer is accepted.
    pub fn schema(mut self, schema: impl IntoSchema) -> Self {
        self.schema = Some(schema.into_schema());
        self
    }

    /// Sets how long the gate waits for an answer, counted from its opening, also while the turn is suspended. Default: until the
    /// turn ends.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.gate.timeout = Some(limit);
        self
    }

    /// Does not suspend the turn while a handler waits here, because the answer is needed in this process. Without it, the turn may
    /// be suspended while the handler of a read-only tool waits; the handler then runs again.
    pub fn keep_in_process(mut self) -> Self {
        self.gate.keep_in_process = true;
        self
    }

    /// Builds the gate.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_TURN_GATE_VALUE`, which lists all invalid fields.
    pub fn build(self) -> Result<TurnGate, Error> {
        let mut gate = self.gate;
        let mut wrong = Violations::default();
        let name = gate.kind.as_str();
        let named = !name.trim().is_empty() && name.len() <= 64;
        wrong.check("kind", named, "must have 1 to 64 characters");
        match self.schema {
            Some(Ok(schema)) => {
                let plain = !schema.has_external();
                wrong.check(
                    "schema",
                    plain,
                    "must not have external checks: a gate does not run them",
                );
                gate.schema = Some(schema);
            }
            Some(Err(error)) => wrong.check("schema", false, &error.to_string()),
            None => {}
        }
        let waits = gate.timeout.is_none_or(|limit| !limit.is_zero());
        wrong.check("timeout", waits, "must not be zero");
        wrong.finish(ErrorCode::INVALID_INITIAL_TURN_GATE_VALUE, "gate")?;
        Ok(gate)
    }
}

debug_fields!(TurnGate { kind });

debug_fields!(TurnGateBuilder { gate });
