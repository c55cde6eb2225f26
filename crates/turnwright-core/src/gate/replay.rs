//! The gates at which a turn waited before it was resumed, and the answers that still count.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::TurnGate;
use super::id::Step;
use crate::record::{GateAnswer, GateDecision, GateKind, GateRecord, GateState};

/// Recorded gates by id.
#[derive(Default)]
pub(crate) struct RecordedGates(Mutex<HashMap<Arc<str>, Arc<GateRecord>>>);

impl RecordedGates {
    pub(crate) fn insert(&self, gate: Arc<GateRecord>) {
        self.0.lock().insert(Arc::clone(&gate.id), gate);
    }

    /// Removes the earlier record of a gate at which the turn waits again.
    pub(crate) fn remove(&self, gate_id: &str) {
        drop(self.0.lock().remove(gate_id));
    }

    pub(crate) fn get(&self, gate_id: &str) -> Option<Arc<GateRecord>> {
        self.0.lock().get(gate_id).cloned()
    }

    /// Returns the gate with this id and its answer, if that still counts: see [`usable_answer`].
    pub(crate) fn answered(
        &self,
        id: &str,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<(Arc<GateRecord>, GateAnswer)> {
        let before = self.get(id)?;
        let answer = usable_answer(&before, gate, tool_call)?;
        Some((before, answer))
    }

    /// Returns when the same gate was opened in an earlier run, if it is still open. An expired gate is opened again, with its
    /// complete timeout.
    pub(crate) fn opened_at(
        &self,
        id: &str,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<SystemTime> {
        let before = self.get(id)?;
        let open = before.state == GateState::Open && is_same(&before, gate, tool_call);
        // A time in the future was written with a wrong clock.
        let age = before.opened_at.elapsed().ok()?;
        let in_time = gate.timeout.is_none_or(|limit| age < limit);
        (open && in_time).then_some(before.opened_at)
    }

    /// Returns whether a gate was opened after this time.
    pub(crate) fn is_opened_after(&self, time: SystemTime) -> bool {
        let gates = self.0.lock();
        gates.values().any(|gate| gate.opened_at > time)
    }

    /// Returns the gates that are still open, closed: all of them if the turn has ended, or those of a call that is not run again.
    pub(crate) fn unanswered(&self, tool_call: Option<&str>) -> Vec<Arc<GateRecord>> {
        let before = self.0.lock();
        let open = before.values().filter(|gate| {
            let is_of = tool_call.is_none() || gate.tool_call.as_deref() == tool_call;
            is_of && gate.state == GateState::Open
        });
        open.map(|gate| gate.closed(GateState::Unanswered))
            .collect()
    }

    /// Returns the earlier approval gates of a call, closed: it opens another one now, because its tool or arguments have changed.
    pub(crate) fn replaced_by(&self, gate: &GateRecord) -> Vec<Arc<GateRecord>> {
        let mut before = self.0.lock();
        let replaced = before.extract_if(|id, other| {
            gate.kind == GateKind::Approval
                && other.kind == gate.kind
                && other.tool_call == gate.tool_call
                && other.state == GateState::Open
                && *id != gate.id
        });
        replaced
            .map(|(_, gate)| gate.closed(GateState::Unanswered))
            .collect()
    }

    /// Returns the last iteration in which the turn reached a gate outside of a call.
    pub(crate) fn last_iteration(&self) -> Option<u32> {
        let gates = self.0.lock();
        let steps = gates.values().filter_map(|gate| gate.step).map(Step);
        let steps = steps.filter(|step| *step != Step::TURN_OUTPUT);
        steps.max().map(Step::iteration)
    }
}

/// Returns the answer of a recorded gate, if it counts for this one: the same kind, the same call and the same question, all of
/// it. For an approval the question holds the tool, its fingerprint, the arguments with their digest, and the reason. An answer
/// counts no longer than the timeout of the gate, if that has one.
pub(crate) fn usable_answer(
    before: &GateRecord,
    gate: &TurnGate,
    tool_call: Option<&str>,
) -> Option<GateAnswer> {
    let same = is_same(before, gate, tool_call);
    let answer = before.answer().filter(|_| same)?;
    match answer.decision {
        GateDecision::Reject { .. } => Some(answer.clone()),
        _ if is_stale(before, gate) => None,
        _ => gate.check(answer.clone()).ok(),
    }
}

/// Returns whether a recorded gate asks all that this one asks.
fn is_same(before: &GateRecord, gate: &TurnGate, tool_call: Option<&str>) -> bool {
    before.kind == gate.kind
        && before.tool_call.as_deref() == tool_call
        && before.question == gate.question
}

/// Returns whether the answer is older than the timeout of the gate. An answer from the future was given under a wrong clock; its
/// age is unknown, so it counts as stale.
fn is_stale(before: &GateRecord, gate: &TurnGate) -> bool {
    let given = before.closed_at.unwrap_or(before.opened_at);
    match given.elapsed() {
        Ok(age) => gate.timeout.is_some_and(|limit| age > limit),
        Err(_) => true,
    }
}
