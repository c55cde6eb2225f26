//! Answers that were given before the turn was resumed.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::wait::rejected;
use crate::error::Error;
use crate::gate::TurnGate;
use crate::record::{GateRecord, GateState};
use crate::tool::context::TurnContext;

impl TurnContext {
    /// The answer that was given at a gate before the turn was resumed, if it still counts. The gate is not opened again then.
    ///
    /// It counts for the same gate alone: the same name, the same call and the same question, all of it. For an approval the
    /// question holds the tool, its fingerprint, the arguments with their digest, and the reason. It counts no longer than
    /// the gate would have waited.
    pub(crate) fn answered_before(
        &self,
        id: &str,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<Result<Value, Error>> {
        if !self.setups().all(|setup| setup.recalls_answers) {
            return None;
        }
        let before = self.inner().recorded_gates.get(id)?;
        let same = before.name == gate.name
            && before.tool_call.as_deref() == tool_call
            && before.question == gate.question;
        match &before.state {
            GateState::Resolved(answer) if same && !is_stale(&before, gate.timeout) => {
                let answer = gate.check(answer.clone()).ok()?;
                Some(Ok(answer))
            }
            GateState::Rejected(reason) if same => Some(Err(rejected(gate, reason))),
            _ => None,
        }
    }
}

/// Whether the answer is older than the timeout of the gate. An answer from the future was given under a wrong clock; its age is
/// unknown, so it counts as stale.
fn is_stale(before: &GateRecord, limit: Option<Duration>) -> bool {
    let given = before.closed_at.unwrap_or(before.opened_at);
    match SystemTime::now().duration_since(given) {
        Ok(age) => limit.is_some_and(|limit| age > limit),
        Err(_) => true,
    }
}
