//! The gates at which a turn waited before it was resumed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::id::Step;
use crate::record::{GateKind, GateRecord, GateState};

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

    /// Returns whether a gate was opened after this time.
    pub(crate) fn is_opened_after(&self, time: SystemTime) -> bool {
        let gates = self.0.lock();
        gates.values().any(|gate| gate.opened_at > time)
    }

    /// Returns the gates of a call that is not run again, closed.
    pub(crate) fn closed_of(&self, tool_call: &str) -> Vec<Arc<GateRecord>> {
        let before = self.0.lock();
        let left = before.values().filter(|gate| {
            gate.tool_call.as_deref() == Some(tool_call) && gate.state == GateState::Open
        });
        left.map(|gate| gate.closed(GateState::Unanswered))
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

    /// Returns the gates that are still open, closed: the turn has ended and did not reach them again.
    pub(crate) fn closed(&self) -> Vec<Arc<GateRecord>> {
        let before = self.0.lock();
        let open = before.values().filter(|gate| gate.state == GateState::Open);
        open.map(|gate| gate.closed(GateState::Unanswered))
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
