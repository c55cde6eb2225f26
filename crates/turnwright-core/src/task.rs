//! The tasks that a turn started, and waits for.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The tasks that a turn started, and waits for before it tells its end. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Count>);

#[derive(Default)]
struct Count {
    alive: AtomicUsize,
    none_left: Notify,
}

/// Counts for as long as it is held.
pub(crate) struct Alive(Arc<Count>);

/// Work that is counted.
struct Tracked<F> {
    // Dropped first: what it leaves behind may start another task, which then counts before this one no longer does.
    work: Pin<Box<F>>,
    _alive: Alive,
}

/// Runs a closure when it is dropped.
pub(crate) struct OnDrop<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Tasks {
    /// Something that counts until it is dropped.
    pub(crate) fn hold(&self) -> Alive {
        self.0.alive.fetch_add(1, Ordering::AcqRel);
        Alive(Arc::clone(&self.0))
    }

    /// The same work, counted until it is dropped.
    pub(crate) fn track<F: Future + Send>(
        &self,
        work: F,
    ) -> impl Future<Output = F::Output> + Send + use<F> {
        Tracked {
            work: Box::pin(work),
            _alive: self.hold(),
        }
    }

    /// Starts a task that is counted.
    pub(crate) fn spawn_on<F>(&self, work: F, runtime: &Handle) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        runtime.spawn(self.track(work))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.alive.load(Ordering::Acquire) == 0
    }

    /// Waits until none is left.
    pub(crate) async fn wait(&self) {
        while !self.is_empty() {
            let mut none_left = pin!(self.0.none_left.notified());
            // Listening begins before looking, so that the last one is not missed in between.
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
