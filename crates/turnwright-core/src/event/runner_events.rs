//! The events of all turns of a runner, as a stream.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use parking_lot::Mutex;

use super::{Event, EventBus, Observer};
use crate::task::OnDrop;

/// A stream of the events of all turns of a runner: see [`TurnRunner::events`](crate::TurnRunner::events).
///
/// It is bounded and never slows a turn down: if a reader lags, the oldest events are dropped, and the next item is a
/// [`Lagged`] with their number. It ends once the runner and its turns are gone.
#[must_use = "a stream does nothing until it is read"]
pub struct RunnerEvents {
    queue: Arc<Mutex<Queue>>,
    /// `None` once it was removed.
    observer: Option<Observer>,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    capacity: usize,
    /// The events that were dropped since the last item.
    missed: u64,
    waker: Option<Waker>,
    ended: bool,
}

/// A reader of [`RunnerEvents`] was too slow, and events were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lagged {
    /// How many events were dropped.
    pub missed: u64,
}

impl RunnerEvents {
    pub(crate) fn new(bus: &EventBus, capacity: usize) -> Self {
        let queue = Arc::new(Mutex::new(Queue {
            capacity,
            ..Queue::default()
        }));
        let ends = OnDrop({
            let queue = Arc::clone(&queue);
            move || {
                let mut queue = queue.lock();
                queue.ended = true;
                let waker = queue.waker.take();
                drop(queue);
                waker.into_iter().for_each(Waker::wake);
            }
        });
        let sink = Arc::clone(&queue);
        let observer = bus.observe(move |event| {
            // Dropped with the bus.
            let _ends = &ends;
            push(&sink, event);
        });
        RunnerEvents {
            queue,
            observer: Some(observer),
        }
    }

    /// Returns the next event, or how many were missed; `None` once the runner and its turns are gone.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<Result<Event, Lagged>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Drop for RunnerEvents {
    fn drop(&mut self) {
        if let Some(observer) = self.observer.take() {
            observer.remove();
        }
    }
}

fn push(queue: &Mutex<Queue>, event: &Event) {
    let mut queue = queue.lock();
    let mut oldest = None;
    if queue.events.len() >= queue.capacity {
        oldest = queue.events.pop_front();
        queue.missed += 1;
    }
    queue.events.push_back(event.clone());
    let waker = queue.waker.take();
    drop(queue);
    drop(oldest);
    waker.into_iter().for_each(Waker::wake);
}

impl Stream for RunnerEvents {
    type Item = Result<Event, Lagged>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = self.queue.lock();
        match std::mem::take(&mut queue.missed) {
            0 => {}
            missed => return Poll::Ready(Some(Err(Lagged { missed }))),
        }
        if let Some(event) = queue.events.pop_front() {
            return Poll::Ready(Some(Ok(event)));
        }
        if queue.ended {
            return Poll::Ready(None);
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missed = self.missed;
        write!(f, "the reader was too slow and missed {missed} events")
    }
}

impl std::error::Error for Lagged {}

impl fmt::Debug for RunnerEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunnerEvents").finish_non_exhaustive()
    }
}
