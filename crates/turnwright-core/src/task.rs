//! Tracks the tasks of a turn.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The tasks that a turn started. The turn waits for them before it ends. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Count>);

#[derive(Default)]
struct Count {
    alive: AtomicUsize,
    none_left: Notify,
}

/// Counts as a task until it is dropped.
pub(crate) struct Alive(Arc<Count>);

/// A tracked future.
struct Tracked<F> {
    // Dropped first: its destructor may start another task, which must be counted before this one is released.
    work: Pin<Box<F>>,
    _alive: Alive,
}

/// Runs a closure on drop.
pub(crate) struct OnDrop<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Tasks {
    /// Returns a guard that counts as a task until it is dropped.
    pub(crate) fn guard(&self) -> Alive {
        self.0.alive.fetch_add(1, Ordering::AcqRel);
        Alive(Arc::clone(&self.0))
    }

    /// Tracks a future until it is dropped.
    pub(crate) fn track<F: Future + Send>(
        &self,
        work: F,
    ) -> impl Future<Output = F::Output> + Send + use<F> {
        Tracked {
            work: Box::pin(work),
            _alive: self.guard(),
        }
    }

    /// Spawns a tracked task.
    pub(crate) fn spawn_on<F>(&self, work: F, runtime: &Handle) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        runtime.spawn(self.track(work))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.alive.load(Ordering::Acquire) == 0
    }

    /// Waits until no task is left.
    pub(crate) async fn wait(&self) {
        while !self.is_empty() {
            let mut none_left = pin!(self.0.none_left.notified());
            // Register before checking, so that the last notification is not missed.
            none_left.as_mut().enable();
            if !self.is_empty() {
                none_left.await;
            }
        }
    }
}

impl<F: Future> Future for Tracked<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.work.as_mut().poll(cx)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if self.0.alive.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none_left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
