//! Gate ids, which are the same whenever a turn reaches the same gate again.
//!
//! Gates outside of calls are numbered by step. A step is the turn's input or output, or one of the three parts of an
//! iteration. A resumed turn continues in the step where it waited, so each gate has its id again and no later one has
//! it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::checksum::digest_of;
use crate::record::GateKind;

/// A step of a turn. Gates outside of calls are numbered per step, so that a step that runs again after a resume finds its own
/// gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Step(pub(crate) u32);

/// Number of steps per iteration.
const PARTS: u32 = 3;

impl Step {
    /// The layers of the turn input.
    pub(crate) const TURN_INPUT: Step = Step(0);
    /// The layers of the turn output.
    pub(crate) const TURN_OUTPUT: Step = Step(u32::MAX);

    /// The input layers of an iteration. Iterations are numbered from 1, over all runs of the turn.
    pub(crate) fn input(iteration: u32) -> Self {
        Step(iteration.saturating_mul(PARTS).saturating_sub(2))
    }

    /// The executor of an iteration.
    pub(crate) fn execute(iteration: u32) -> Self {
        Step(iteration.saturating_mul(PARTS).saturating_sub(1))
    }

    /// The output layers of an iteration.
    pub(crate) fn output(iteration: u32) -> Self {
        Step(iteration.saturating_mul(PARTS))
    }

    /// Returns the iteration of the step. 0 for the turn input.
    pub(crate) fn iteration(self) -> u32 {
        self.0.div_ceil(PARTS)
    }

    /// Returns whether it is the output of an iteration.
    pub(crate) fn is_output(self) -> bool {
        self != Step::TURN_INPUT && self != Step::TURN_OUTPUT && self.0.is_multiple_of(PARTS)
    }
}

/// Numbers the gates of a turn.
#[derive(Default)]
pub(crate) struct GateNumbers(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    step: Step,
    passed: HashMap<NumberedBy, u64>,
}

/// Gates are numbered per kind, call and step.
type NumberedBy = (GateKind, Option<Arc<str>>, Option<Step>);

impl GateNumbers {
    /// Returns the current step.
    pub(crate) fn step(&self) -> Step {
        self.0.lock().step
    }

    /// Enters a step.
    pub(crate) fn enter(&self, step: Step) {
        self.0.lock().step = step;
    }

    /// Returns the position of the next gate of this kind: the step, for a gate outside of calls, and its number among the gates of
    /// the same kind in its step or call, starting at 1.
    pub(crate) fn next(
        &self,
        kind: &GateKind,
        tool_call: Option<&Arc<str>>,
    ) -> (Option<Step>, u64) {
        let mut counts = self.0.lock();
        let step = tool_call.is_none().then_some(counts.step);
        let key = (kind.clone(), tool_call.cloned(), step);
        let count = counts.passed.entry(key).or_default();
        *count += 1;
        (step, *count)
    }
}

/// Returns the id of a gate: its kind, and 128 bits of a digest of its conversation, its turn and `key`. Turns of different
/// conversations can have the same id, and share what is keyed by gates when one runs under a call of the other.
pub(crate) fn gate_id(
    (conversation, turn_id): (&str, &str),
    kind: &GateKind,
    key: &Value,
) -> Arc<str> {
    let digest = digest_of(&json!([conversation, turn_id, kind.as_str(), key]));
    let short = digest.get(..32).unwrap_or(&digest);
    format!("{kind}-{short}").into()
}
