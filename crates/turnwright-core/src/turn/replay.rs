//! Answers that were given before the turn was resumed.

use std::time::{Duration, SystemTime};

use crate::gate::{GateAnswer, TurnGate};
use crate::record::GateRecord;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// The answer that was given at a gate before the turn was resumed, if it still counts. The gate is not opened again then.
    ///
    /// It counts for the same gate alone: the same kind, the same call and the same question, all of it. For an approval the
    /// question holds the tool, its fingerprint, the arguments with their digest, and the reason. It counts no longer than
    /// the gate would have waited.
    pub(crate) fn answered_before(
        &self,
        id: &str,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<GateAnswer> {
        let before = self.inner().recorded_gates.get(id)?;
        self.usable(&before, gate, tool_call)
    }

    /// Returns the answer of a recorded gate, if it is valid for this one.
    pub(super) fn usable(
        &self,
        before: &GateRecord,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<GateAnswer> {
        if !self.setups().all(|setup| setup.recalls_answers) {
            return None;
        }
        let same = before.kind == gate.kind
            && before.tool_call.as_deref() == tool_call
            && before.question == gate.question;
        match before.answer().filter(|_| same)? {
            reject @ GateAnswer::Reject { .. } => Some(reject.clone()),
            answer if !is_stale(before, gate.timeout) => gate.check(answer.clone()).ok(),
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
