//! Tracks what a turn has used of its budget.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::turn::TurnContext;
use crate::outcome::Limit;
use crate::usage::Usage;

/// What a turn has used besides tokens, and whether it reached a limit. Includes turns under its calls.
pub(crate) struct Meter {
    clock: Mutex<Clock>,
    calls: Mutex<Calls>,
    /// The limit that was reached. Nothing more is started then.
    reached: Mutex<Option<Limit>>,
    /// The usage that was written to the turn's record: tokens, and calls that have ended.
    pub(crate) noted: Mutex<(Usage, u64)>,
}

struct Clock {
    /// When this run started. For a resumed turn: when it got its lease.
    start: Instant,
    /// How long the turn ran before it was resumed.
    before: Duration,
}

#[derive(Default)]
struct Calls {
    /// Calls that ended, run or may run.
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

    /// Returns how long the turn has run, over all its runs.
    pub(crate) fn elapsed(&self) -> Duration {
        let clock = self.clock.lock();
        clock.before.saturating_add(clock.start.elapsed())
    }

    /// Returns the deadline for a time limit.
    pub(crate) fn ends_at(&self, time: Duration) -> Option<Instant> {
        let clock = self.clock.lock();
        clock.start.checked_add(time.saturating_sub(clock.before))
    }

    /// Returns the number of calls that have ended.
    pub(crate) fn ended_calls(&self) -> u64 {
        let calls = self.calls.lock();
        calls.taken.saturating_sub(calls.running)
    }

    /// Counts a call that ran in a dead process.
    pub(crate) fn count_call(&self) {
        self.calls.lock().taken += 1;
    }

    /// Takes a call from the budget. Returns `false` if it is used up.
    pub(crate) fn take_call(&self, most: Option<u64>) -> bool {
        let mut calls = self.calls.lock();
        if most.is_some_and(|most| calls.taken >= most) {
            return false;
        }
        calls.taken += 1;
        calls.running += 1;
        true
    }

    /// Ends a call that was taken. A call that did not run does not count.
    pub(crate) fn end_call(&self, ran: bool) {
        let mut calls = self.calls.lock();
        calls.running = calls.running.saturating_sub(1);
        if !ran {
            calls.taken = calls.taken.saturating_sub(1);
        }
    }

    /// Returns whether no call is left.
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

/// A call that was taken from the budgets of a turn and its outer turns, until it ends.
pub(crate) struct CallPermit {
    turn: TurnContext,
    /// The number of turns it was taken from, innermost first.
    pub(crate) depth: usize,
    /// Whether the handler was started.
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
