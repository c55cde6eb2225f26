//! The gates at which a turn waited before it was resumed.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::id::Step;
use crate::record::{GateRecord, GateState};

/// By their ids.
#[derive(Default)]
pub(crate) struct RecordedGates(Mutex<HashMap<Arc<str>, Arc<GateRecord>>>);

impl RecordedGates {
    pub(crate) fn recall(&self, gate: Arc<GateRecord>) {
        self.0.lock().insert(Arc::clone(&gate.id), gate);
    }

    /// The turn waits at a gate again: its earlier record no longer counts.
    pub(crate) fn waits_again(&self, gate_id: &str) {
        drop(self.0.lock().remove(gate_id));
    }

    pub(crate) fn get(&self, gate_id: &str) -> Option<Arc<GateRecord>> {
        self.0.lock().get(gate_id).cloned()
    }

    /// The gates at which a call waited that is not run again, closed.
    pub(crate) fn closed_of(&self, tool_call: &str) -> Vec<Arc<GateRecord>> {
        let before = self.0.lock();
        let left = before.values().filter(|gate| {
            gate.tool_call.as_deref() == Some(tool_call) && gate.state == GateState::Open
        });
        left.map(|gate| gate.closed(GateState::Unanswered))
            .collect()
    }

    /// The last iteration in which the turn came to a gate outside of a call.
    pub(crate) fn last_iteration(&self) -> Option<u32> {
        let gates = self.0.lock();
        let steps = gates.values().filter_map(|gate| gate.step).map(Step);
        let steps = steps.filter(|step| *step != Step::TURN_OUTPUT);
        steps.max().map(Step::iteration)
    }
}
