//! The gates at which a turn waited before it was taken up again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde_json::Value;

use super::TurnGate;
use super::wait::declined;
use crate::error::Error;
use crate::record::{GateRecord, GateState};
use crate::turn::TurnContext;

impl TurnContext {
    /// What was answered at a gate before the turn was resumed, if it still counts: then nobody is asked again.
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
        let before = self.gates_before().get(id)?;
        let same = before.name() == &*gate.name
            && before.tool_call() == tool_call
            && before.question() == &*gate.question;
        match before.state() {
            GateState::Resolved(answer) if same && !is_stale(&before, gate.timeout) => {
                let answer = gate.check(answer.clone()).ok()?;
                Some(Ok(answer))
            }
            GateState::Rejected(reason) if same => Some(Err(declined(gate, reason))),
            _ => None,
        }
    }
}

/// Whether the answer is older than somebody would have had to give it. One that was given in the future was given by a clock
/// that was wrong, and nobody can say how old it is.
fn is_stale(before: &GateRecord, limit: Option<Duration>) -> bool {
    let given = before.closed_at().unwrap_or(before.opened_at());
    match SystemTime::now().duration_since(given) {
        Ok(age) => limit.is_some_and(|limit| age > limit),
        Err(_) => true,
    }
}

/// By their ids.
#[derive(Default)]
pub(crate) struct GatesBefore(Mutex<HashMap<Arc<str>, Arc<GateRecord>>>);

impl GatesBefore {
    pub(crate) fn recall(&self, gate: Arc<GateRecord>) {
        self.0.lock().insert(Arc::clone(&gate.gate_id), gate);
    }

    /// The turn waits at a gate once more: what was there before is over.
    pub(super) fn waits_again(&self, gate_id: &str) {
        drop(self.0.lock().remove(gate_id));
    }

    fn get(&self, gate_id: &str) -> Option<Arc<GateRecord>> {
        self.0.lock().get(gate_id).cloned()
    }

    /// The gates at which a call waited that is not run again, closed.
    pub(crate) fn closed_of(&self, tool_call: &str) -> Vec<Arc<GateRecord>> {
        let before = self.0.lock();
        let left = before
            .values()
            .filter(|gate| gate.tool_call() == Some(tool_call) && *gate.state() == GateState::Open);
        left.map(|gate| gate.closed(GateState::Unanswered))
            .collect()
    }

    /// How many gates of each name there were outside of calls, up to the one where the turn waited.
    pub(super) fn counts(&self) -> HashMap<Arc<str>, u64> {
        let mut counts = HashMap::new();
        for gate in self.0.lock().values().filter(|it| it.tool_call.is_none()) {
            let number = gate.gate_id().strip_prefix(gate.name());
            let number = number.and_then(|rest| rest.strip_prefix('-')?.parse::<u64>().ok());
            let passed = match gate.state() {
                GateState::Open => number.map(|number| number.saturating_sub(1)),
                _ => number,
            };
            let count: &mut u64 = counts.entry(Arc::clone(&gate.name)).or_default();
            *count = (*count).max(passed.unwrap_or(0));
        }
        counts
    }
}
