//! What a turn has used of its budget.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::turn::TurnContext;
use crate::outcome::Limit;
use crate::usage::Usage;

/// What a turn has used besides tokens, and whether it came to a limit. Turns under its calls are included.
pub(crate) struct Meter {
    clock: Mutex<Clock>,
    calls: Mutex<Calls>,
    /// The limit that it came to: nothing more is begun.
    reached: Mutex<Option<Limit>>,
    /// What the turn's record says was used: tokens, and calls that have ended.
    pub(crate) noted: Mutex<(Usage, u64)>,
}

struct Clock {
    /// When this run began. Of a resumed turn: once it had its lease.
    start: Instant,
    /// How long the turn ran before it was resumed.
    before: Duration,
}

#[derive(Default)]
struct Calls {
    /// Those that ended, run or may run.
    taken: u64,
    /// Those of them that have not ended.
    running: u64,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Meter {
            clock: Mutex::new(Clock {
                start: Instant::now(),
                before: Duration::ZERO,
            }),
            calls: Mutex::default(),
            reached: Mutex::default(),
            noted: Mutex::default(),
        }
    }

    /// Continues from what the turn used before it was resumed.
    pub(crate) fn resume(&self, elapsed: Duration, calls: u64) {
        *self.clock.lock() = Clock {
            start: Instant::now(),
            before: elapsed,
        };
        self.calls.lock().taken += calls;
    }

    /// How long the turn has run, in all its runs.
    pub(crate) fn elapsed(&self) -> Duration {
        let clock = self.clock.lock();
        clock.before.saturating_add(clock.start.elapsed())
    }

    /// When a turn that may run so long is over.
    pub(crate) fn ends_at(&self, time: Duration) -> Option<Instant> {
        let clock = self.clock.lock();
        clock.start.checked_add(time.saturating_sub(clock.before))
    }

    /// The calls that have ended.
    pub(crate) fn ended_calls(&self) -> u64 {
        let calls = self.calls.lock();
        calls.taken.saturating_sub(calls.running)
    }

    /// Counts a call that ran in a process that is gone.
    pub(crate) fn count_call(&self) {
        self.calls.lock().taken += 1;
    }

    /// Takes a call out of the budget. `false` if it is used up.
    pub(crate) fn take_call(&self, most: Option<u64>) -> bool {
        let mut calls = self.calls.lock();
        if most.is_some_and(|most| calls.taken >= most) {
            return false;
        }
        calls.taken += 1;
        calls.running += 1;
        true
    }

    /// Ends a call that was taken. One that did not run does not count.
    pub(crate) fn end_call(&self, ran: bool) {
        let mut calls = self.calls.lock();
        calls.running = calls.running.saturating_sub(1);
        if !ran {
            calls.taken = calls.taken.saturating_sub(1);
        }
    }

    /// Whether no call is left.
    pub(crate) fn has_no_call(&self, most: u64) -> bool {
        self.calls.lock().taken >= most
    }

    pub(crate) fn reach(&self, limit: Limit) {
        self.reached.lock().get_or_insert(limit);
    }

    pub(crate) fn reached(&self) -> Option<Limit> {
        self.reached.lock().clone()
    }
}

/// A call that was taken out of the budgets of a turn and of those around it, until it ends.
pub(crate) struct CallPermit {
    turn: TurnContext,
    /// How many turns it was taken from, the innermost first.
    pub(crate) depth: usize,
    /// Its handler was reached.
    pub(crate) ran: bool,
}

impl CallPermit {
    pub(crate) fn new(turn: TurnContext) -> Self {
        CallPermit {
            turn,
            depth: 0,
            ran: false,
        }
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        for turn in self.turn.and_outer().take(self.depth) {
            turn.inner().meter.end_call(self.ran);
        }
    }
}

impl std::fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallPermit")
            .field("ran", &self.ran)
            .finish_non_exhaustive()
    }
}
