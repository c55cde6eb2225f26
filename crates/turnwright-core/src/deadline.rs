//! Runs work with a time limit and cancellation.
//!
//! Waiting at a gate does not count as running time: the timer of the call is paused.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

use crate::cancel::Cancellation;

/// Why work was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Timeout(Duration),
    Cancelled,
}

/// A time limit.
#[derive(Clone, Copy)]
pub(crate) struct TimeLimit<'w> {
    pub(crate) start: Instant,
    pub(crate) limit: Option<Duration>,
    /// Time that does not count towards the limit.
    pub(crate) waits: Option<&'w Waits>,
}

impl TimeLimit<'_> {
    pub(crate) fn none() -> Self {
        TimeLimit::from_now(None)
    }

    pub(crate) fn from_now(limit: Option<Duration>) -> Self {
        TimeLimit {
            start: Instant::now(),
            limit,
            waits: None,
        }
    }

    /// Returns the deadline, as of now.
    fn end(&self) -> Option<Instant> {
        let waited = self.waits.map_or(Some(Duration::ZERO), Waits::over)?;
        self.start.checked_add(self.limit?)?.checked_add(waited)
    }
}

/// Time spent waiting for a person, which does not count towards time limits.
#[derive(Default)]
pub(crate) struct Waits(Mutex<Waited>);

#[derive(Default)]
struct Waited {
    before: Duration,
    since: Option<Instant>,
    waiting: u32,
}

/// A wait in progress. Ends when it is dropped.
pub(crate) struct Waiting<'w>(&'w Waits);

impl Waits {
    pub(crate) fn begin(&self) -> Waiting<'_> {
        let mut waited = self.0.lock();
        waited.waiting += 1;
        waited.since.get_or_insert_with(Instant::now);
        Waiting(self)
    }

    pub(crate) fn so_far(&self) -> Duration {
        let waited = self.0.lock();
        waited.before + waited.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns the total waiting time, or `None` if a wait is in progress.
    fn over(&self) -> Option<Duration> {
        let waited = self.0.lock();
        waited.since.is_none().then_some(waited.before)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waited = self.0.0.lock();
        waited.waiting = waited.waiting.saturating_sub(1);
        if waited.waiting == 0
            && let Some(since) = waited.since.take()
        {
            waited.before += since.elapsed();
        }
    }
}

/// Runs `work` until it ends, the limit is reached or it is cancelled. The timer and the cancellation future are created only if
/// the work does not complete immediately.
pub(crate) async fn within<F: Future>(
    time: TimeLimit<'_>,
    cancellation: impl Into<Option<&Cancellation>>,
    work: F,
) -> Result<F::Output, Cut> {
    let end = || Some((time.end()?, time.limit?));
    cut_at(end, cancellation.into(), work).await
}

/// Runs `work` until it ends, it is cancelled or an instant is reached, which may change meanwhile. The instant comes with the
/// time limit to report.
pub(crate) async fn cut_at<F: Future>(
    end: impl Fn() -> Option<(Instant, Duration)>,
    cancellation: Option<&Cancellation>,
    work: F,
) -> Result<F::Output, Cut> {
    let mut work = pin!(work);
    let mut cancelled: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = None;
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    poll_fn(move |cx| {
        if let Poll::Ready(output) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        if let Some(cancellation) = cancellation {
            let cancelled = cancelled.get_or_insert_with(|| Box::pin(cancellation.cancelled()));
            if cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(Cut::Cancelled));
            }
        }
        loop {
            // No deadline applies during a wait. The end of the wait triggers another check.
            let Some((until, limit)) = end() else {
                return Poll::Pending;
            };
            let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
            if timer.deadline() != until {
                timer.as_mut().reset(until);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if end().is_some_and(|(now, _)| now == until) {
                return Poll::Ready(Err(Cut::Timeout(limit)));
            }
        }
    })
    .await
}
