//! The gates at which a turn waited before it was resumed.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::id::Step;
use crate::record::{GateRecord, GateState};

/// Recorded gates by id.
#[derive(Default)]
pub(crate) struct RecordedGates(Mutex<HashMap<Arc<str>, Arc<GateRecord>>>);

impl RecordedGates {
    pub(crate) fn recall(&self, gate: Arc<GateRecord>) {
        self.0.lock().insert(Arc::clone(&gate.id), gate);
    }

    /// Removes the earlier record of a gate at which the turn waits again.
    pub(crate) fn waits_again(&self, gate_id: &str) {
        drop(self.0.lock().remove(gate_id));
    }

    pub(crate) fn get(&self, gate_id: &str) -> Option<Arc<GateRecord>> {
        self.0.lock().get(gate_id).cloned()
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

    /// Returns the last iteration in which the turn reached a gate outside of a call.
    pub(crate) fn last_iteration(&self) -> Option<u32> {
        let gates = self.0.lock();
        let steps = gates.values().filter_map(|gate| gate.step).map(Step);
        let steps = steps.filter(|step| *step != Step::TURN_OUTPUT);
        steps.max().map(Step::iteration)
    }
}
