//! What a turn has used of its budget, and why it stops.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::ErrorCode;
use crate::outcome::{Limit, Stop};
use crate::record::TurnRecord;
use crate::usage::{ModelRequest, ModelUsage, Usage};

/// What a turn has used, whether it reached a limit, and why it was stopped. Includes turns under its calls.
pub(crate) struct Limits {
    /// When the turn was created.
    created: Instant,
    clock: Mutex<Clock>,
    calls: Mutex<Calls>,
    /// The limit that was reached. Nothing more is started then.
    reached: Mutex<Option<Limit>>,
    usage: Mutex<Used>,
    /// The usage that was written to the turn's record: tokens, and calls that have ended.
    recorded: Mutex<(Usage, u64)>,
    /// Why the turn ends early. The first reason counts.
    stop: Mutex<Option<Stop>>,
}

/// Token usage of the turn itself, and of turns under its calls.
#[derive(Default)]
struct Used {
    itself: Usage,
    inner_turns: Usage,
    /// What the running executor reported, for its span and metrics.
    reported: Vec<ReportedRequest>,
}

/// A request of an executor, as far as it was reported.
#[derive(Clone, Default)]
pub(crate) struct ReportedRequest {
    /// What was asked, and when.
    pub(crate) asked: Option<(Arc<ModelRequest>, Instant)>,
    pub(crate) response: Option<Arc<ModelUsage>>,
    /// Why it failed, and when.
    pub(crate) failed: Option<(ErrorCode, Instant)>,
}

impl ReportedRequest {
    pub(crate) fn is_over(&self) -> bool {
        self.response.is_some() || self.failed.is_some()
    }
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

impl Limits {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Limits {
            created: now,
            clock: Mutex::new(Clock {
                start: now,
                before: Duration::ZERO,
            }),
            calls: Mutex::default(),
            reached: Mutex::default(),
            usage: Mutex::default(),
            recorded: Mutex::default(),
            stop: Mutex::default(),
        }
    }

    /// Continues from what the turn used before it was resumed.
    pub(crate) fn resume(&self, record: &TurnRecord) {
        self.usage.lock().itself += record.usage;
        *self.clock.lock() = Clock {
            start: Instant::now(),
            before: record.elapsed,
        };
        self.calls.lock().taken += record.tool_calls;
    }

    /// Writes the usage into the record of the turn.
    pub(crate) fn record(&self, record: &mut TurnRecord) {
        record.usage = self.usage();
        record.tool_calls = self.ended_calls();
        record.elapsed = self.elapsed();
    }

    /// Marks the usage as recorded. Returns whether something was used since the last time.
    pub(crate) fn mark_recorded(&self) -> bool {
        let used = (self.usage(), self.ended_calls());
        let mut recorded = self.recorded.lock();
        std::mem::replace(&mut *recorded, used) != used
    }

    /// Returns the token usage of the turn, including turns under its calls.
    pub(crate) fn usage(&self) -> Usage {
        let used = self.usage.lock();
        used.itself + used.inner_turns
    }

    /// Returns the usage of the turn itself.
    pub(crate) fn own_usage(&self) -> Usage {
        self.usage.lock().itself
    }

    /// Adds the usage of a model response of the turn itself.
    pub(crate) fn add_usage(&self, usage: &Arc<ModelUsage>) {
        let mut used = self.usage.lock();
        used.itself += usage.tokens;
        let last = used.reported.pop_if(|last| !last.is_over());
        // Without a report of its own, a request is like the one before it.
        let asked = last.or_else(|| used.reported.last().cloned());
        used.reported.push(ReportedRequest {
            asked: asked.and_then(|request| request.asked),
            response: Some(Arc::clone(usage)),
            failed: None,
        });
    }

    /// Adds a request that is sent next. It replaces one whose end is unknown.
    pub(crate) fn add_request(&self, request: ModelRequest) {
        let reported = &mut self.usage.lock().reported;
        reported.pop_if(|last| !last.is_over());
        reported.push(ReportedRequest {
            asked: Some((Arc::new(request), Instant::now())),
            ..ReportedRequest::default()
        });
    }

    /// Marks the last request as failed.
    pub(crate) fn fail_request(&self, code: ErrorCode) {
        if let Some(last) = self.usage.lock().reported.last_mut() {
            last.failed = Some((code, Instant::now()));
        }
    }

    /// Adds the usage of a turn under a call.
    pub(crate) fn add_inner_usage(&self, usage: Usage) {
        self.usage.lock().inner_turns += usage;
    }

    /// Returns what was reported since the last time.
    pub(crate) fn take_reported(&self) -> Vec<ReportedRequest> {
        std::mem::take(&mut self.usage.lock().reported)
    }

    /// Stops the turn. The first reason counts.
    pub(crate) fn stop(&self, why: Stop) {
        self.stop.lock().get_or_insert(why);
    }

    /// Returns why the turn was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.stop.lock().clone()
    }

    /// Returns how long ago the turn was created.
    pub(crate) fn age(&self) -> Duration {
        self.created.elapsed()
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
