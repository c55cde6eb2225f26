//! Passes events to observers.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream, Stream, StreamExt as _};
use parking_lot::RwLock;
use tokio::sync::broadcast::{self, error::RecvError};

use super::Event;
use crate::task::OnDrop;

type Observe = Arc<dyn Fn(&Event) + Send + Sync>;

/// Passes the events of turns to observers. Clones share it.
///
/// ```
/// use std::sync::mpsc;
/// use turnwright_core::{DispatchContext, Next, TurnContext};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (sender, names) = mpsc::channel();
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.answer("Hello.").await?;
///     Ok(())
/// })
/// .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
///     let sender = sender.clone();
///     // Only the events of this turn.
///     ctx.events().observe(move |event| drop(sender.send(event.name())));
///     async move { next.run().await }
/// })
/// .build()?;
/// runner.run("Hello!").await;
/// assert_eq!(names.try_iter().last(), Some("turnEnd"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct EventBus {
    own: Arc<Observers>,
    /// The observers of all turns of a runner.
    above: Option<Arc<Observers>>,
}

#[derive(Default)]
struct Observers {
    list: RwLock<Arc<[(u64, Observe)]>>,
    next: AtomicU64,
    count: AtomicUsize,
}

impl EventBus {
    /// Creates a bus for one turn. Its events also reach the observers of this bus, but not the reverse.
    #[must_use]
    pub fn below(&self) -> Self {
        EventBus {
            own: Arc::default(),
            above: Some(Arc::clone(&self.own)),
        }
    }

    /// Drops its own observers.
    pub(crate) fn end(&self) {
        self.own.change(Vec::clear);
    }

    /// Calls `observer` with every event from now on, for as long as the bus lives: call it as a statement. The returned
    /// [`Observer`] is needed only to [`remove`](Observer::remove) it.
    pub fn observe(&self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Observer {
        let key = self.own.next.fetch_add(1, Ordering::Relaxed);
        self.own.change(|list| list.push((key, Arc::new(observer))));
        Observer {
            bus: Arc::downgrade(&self.own),
            key,
        }
    }

    /// Creates a stream of the events from now on. A reader may lag this many events behind.
    pub(crate) fn stream(&self, capacity: usize) -> RunnerEvents {
        let (sender, receiver) = broadcast::channel(capacity);
        let observer = self.observe(move |event| drop(sender.send(Arc::new(event.clone()))));
        let removes = OnDrop(move || observer.remove());
        let events = stream::unfold((receiver, removes), |(mut receiver, removes)| async move {
            let next = match receiver.recv().await {
                Ok(event) => Ok(Arc::unwrap_or_clone(event)),
                Err(RecvError::Lagged(missed)) => Err(Lagged { missed }),
                Err(RecvError::Closed) => return None,
            };
            Some((next, (receiver, removes)))
        });
        RunnerEvents(events.boxed())
    }

    pub(crate) fn is_observed(&self) -> bool {
        let mut all = self.above.iter().chain([&self.own]);
        all.any(|observers| observers.count.load(Ordering::Acquire) > 0)
    }

    /// Passes an event to the observers.
    pub(super) fn notify(&self, event: &Event) {
        for observers in self.above.iter().chain([&self.own]) {
            // A snapshot of the list: an observer may add or drop observers.
            let list = Arc::clone(&observers.list.read());
            for (_, observe) in list.iter() {
                // A panic in an observer does not affect the turn.
                drop(catch_unwind(AssertUnwindSafe(|| observe(event))));
            }
        }
    }
}

impl Observers {
    fn change(&self, change: impl FnOnce(&mut Vec<(u64, Observe)>)) {
        let mut list = self.list.write();
        let mut changed = list.to_vec();
        change(&mut changed);
        self.count.store(changed.len(), Ordering::Release);
        let before = std::mem::replace(&mut *list, changed.into());
        drop(list);
        // Outside of the lock: values owned by an observer may use the bus.
        drop(before);
    }
}

debug_fields!(EventBus {});

/// An observer that was added to a bus. Dropping this changes nothing; [`remove`](Self::remove) takes the observer back.
#[derive(Debug)]
pub struct Observer {
    bus: Weak<Observers>,
    key: u64,
}

impl Observer {
    /// Removes the observer: it is called for no further event, and dropped. Does nothing if the bus is gone.
    pub fn remove(&self) {
        if let Some(bus) = self.bus.upgrade() {
            bus.change(|list| list.retain(|(key, _)| *key != self.key));
        }
    }
}

/// A stream of the events of all turns of a runner: see [`TurnRunner::events`](crate::TurnRunner::events).
///
/// The stream is bounded and never slows down a turn: if a reader lags, the oldest events are dropped, and the next item is a
/// [`Lagged`] with their number. It ends once the runner and its turns are gone.
#[must_use = "a stream does nothing until it is read"]
pub struct RunnerEvents(BoxStream<'static, Result<Event, Lagged>>);

impl RunnerEvents {
    /// Returns the next event, or how many were missed. `None` once the runner and its turns are gone.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<Result<Event, Lagged>> {
        self.0.next().await
    }
}

impl Stream for RunnerEvents {
    type Item = Result<Event, Lagged>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

debug_fields!(RunnerEvents {});

/// A reader of [`RunnerEvents`] was too slow, and events were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lagged {
    /// How many events were dropped.
    pub missed: u64,
}

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missed = self.missed;
        write!(f, "the reader was too slow and missed {missed} events")
    }
}

impl std::error::Error for Lagged {}
