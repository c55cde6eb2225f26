//! The gates at which a turn waited before it was resumed.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::record::{GateRecord, GateState};

/// By their ids.
#[derive(Default)]
pub(crate) struct RecordedGates(Mutex<HashMap<Arc<str>, Arc<GateRecord>>>);

impl RecordedGates {
    pub(crate) fn recall(&self, gate: Arc<GateRecord>) {
        self.0.lock().insert(Arc::clone(&gate.gate_id), gate);
    }

    /// The turn waits at a gate once more: what was there before is over.
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

    /// How many gates of each name there were outside of calls, up to the one where the turn waited.
    pub(crate) fn counts(&self) -> HashMap<Arc<str>, u64> {
        let mut counts = HashMap::new();
        for gate in self
            .0
            .lock()
            .values()
            .filter(|gate| gate.tool_call.is_none())
        {
            let number = gate.gate_id.strip_prefix(&*gate.name);
            let number = number.and_then(|rest| rest.strip_prefix('-')?.parse::<u64>().ok());
            let passed = match gate.state {
                GateState::Open => number.map(|number| number.saturating_sub(1)),
                _ => number,
            };
            let count: &mut u64 = counts.entry(Arc::clone(&gate.name)).or_default();
            *count = (*count).max(passed.unwrap_or(0));
        }
        counts
    }
}
