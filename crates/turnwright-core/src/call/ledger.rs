//! Who notes calls that may change the world, before and after they run.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use super::admitted::AdmittedCall;
use super::checked::Checked;
use super::proposed::Call;

/// Why a ledger could not do its work.
pub type LedgerError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Notes calls that may change the world. A call that was begun and never ended is unknown, and is not made again.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// These calls are about to run; they do not if this fails.
    ///
    /// # Errors
    /// They could not be noted, none of them.
    async fn begun(&self, calls: &[BegunCall]) -> Result<(), LedgerError>;

    /// This call ended.
    ///
    /// # Errors
    /// It could not be noted; the call stays begun.
    async fn ended(&self, effect_key: &str, state: EndState) -> Result<(), LedgerError>;
}

/// A call that is about to run.
#[derive(Clone)]
#[non_exhaustive]
pub struct BegunCall {
    /// Which call.
    pub id: String,
    /// What was asked for.
    pub call_id: String,
    /// Unique and the same after a crash: turn, ordinal and call id.
    pub effect_key: String,
    /// The tool's name.
    pub tool: String,
    /// The tool's fingerprint.
    pub fingerprint: String,
    /// The arguments that it runs with.
    pub args: Value,
}

/// How a call that was begun ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndState {
    /// It did what it was to do.
    Done,
    /// The handler said that it failed.
    Failed,
    /// It was cut off: it may have had its effect or not.
    Unknown,
}

impl BegunCall {
    pub(super) fn of(call: &AdmittedCall) -> Self {
        BegunCall {
            id: call.id().to_owned(),
            call_id: call.call_id().to_owned(),
            effect_key: call.checked.effect_key(),
            tool: call.tool().name().to_owned(),
            fingerprint: call.tool().fingerprint().to_owned(),
            args: call.args().clone(),
        }
    }
}

impl Checked {
    /// The key of the call's effect: unique, and the same whenever the same turn is played again.
    pub(super) fn effect_key(&self) -> String {
        let Call { ctx, ordinal, .. } = &self.call;
        format!("{}/{ordinal}/{}", ctx.turn_id(), self.call_id.as_str())
    }
}

impl fmt::Debug for BegunCall {
    /// Arguments may hold secrets: they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BegunCall")
            .field("tool", &self.tool)
            .field("effect_key", &self.effect_key)
            .finish_non_exhaustive()
    }
}
