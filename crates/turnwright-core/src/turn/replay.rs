//! Answers that were given before the turn was resumed.

use std::time::{Duration, SystemTime};

use crate::gate::{GateAnswer, GateClosed, GateDecision, TurnGate};
use crate::record::{GateRecord, GateState};
use crate::tool::context::TurnContext;

impl TurnContext {
    /// The answer that was given at a gate before the turn was resumed, if it still counts. The gate is not opened again then.
    ///
    /// It counts for the same gate alone: the same kind, the same call and the same question, all of it. For an approval the
    /// question holds the tool, its fingerprint, the arguments with their digest, and the reason. It counts no longer than
    /// the timeout of the gate, if that has one.
    pub(crate) fn answered_before(
        &self,
        id: &str,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<GateAnswer> {
        let recorded = &self.inner().recorded_gates;
        let before = recorded.get(id)?;
        let answer = self.usable(&before, gate, tool_call)?;
        let answered_at = before.closed_at.unwrap_or(before.opened_at);
        // A layer that runs again in each resume gets the answer each time. If a gate was opened since, this one was reported
        // before.
        if !recorded.is_opened_after(answered_at) {
            let closed = GateClosed::of(&answer);
            let waited = answered_at.duration_since(before.opened_at);
            let gate = (&before.id, &before.kind);
            self.report_gate_closed(gate, waited.unwrap_or_default(), &closed);
        }
        Some(answer)
    }

    /// Returns when the same gate was opened in an earlier run, if it is still open. An expired gate is opened again, with its
    /// complete timeout.
    pub(crate) fn opened_before(
        &self,
        id: &str,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<SystemTime> {
        let before = self.inner().recorded_gates.get(id)?;
        let open = before.state == GateState::Open && is_same(&before, gate, tool_call);
        // A time in the future was written with a wrong clock.
        let age = before.opened_at.elapsed().ok()?;
        let in_time = gate.timeout.is_none_or(|limit| age < limit);
        (open && in_time).then_some(before.opened_at)
    }

    /// Returns the answer of a recorded gate, if it is valid for this one.
    pub(super) fn usable(
        &self,
        before: &GateRecord,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<GateAnswer> {
        if !self.setups().all(|setup| setup.reuses_answers) {
            return None;
        }
        let same = is_same(before, gate, tool_call);
        let answer = before.answer().filter(|_| same)?;
        match answer.decision {
            GateDecision::Reject { .. } => Some(answer.clone()),
            _ if !is_stale(before, gate.timeout) => gate.check(answer.clone()).ok(),
            _ => None,
        }
    }
}

/// Whether a recorded gate asks all that this one asks.
fn is_same(before: &GateRecord, gate: &TurnGate, tool_call: Option<&str>) -> bool {
    before.kind == gate.kind
        && before.tool_call.as_deref() == tool_call
        && before.question == gate.question
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
