//! Passes events to observers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use parking_lot::RwLock;

use super::{Event, EventKind};
use crate::panic::drop_quietly;
use crate::store::ConversationId;

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

    pub(crate) fn is_observed(&self) -> bool {
        let mut all = self.above.iter().chain([&self.own]);
        all.any(|observers| observers.count.load(Ordering::Acquire) > 0)
    }

    /// Passes an event to the observers. It is created only if there are any.
    pub(crate) fn notify(
        &self,
        turn_id: &Arc<str>,
        conversation_id: &ConversationId,
        kind: impl FnOnce() -> EventKind,
    ) {
        if !self.is_observed() {
            return;
        }
        let event = Event {
            time: SystemTime::now(),
            turn_id: Arc::clone(turn_id),
            conversation_id: conversation_id.shared(),
            kind: kind(),
        };
        for observers in self.above.iter().chain([&self.own]) {
            // A snapshot of the list: an observer may add or drop observers.
            let list = Arc::clone(&observers.list.read());
            for (_, observe) in list.iter() {
                // A panic in an observer does not affect the turn.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observe(&event))) {
                    drop_quietly(panic);
                }
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
    pub fn remove(self) {
        if let Some(bus) = self.bus.upgrade() {
            bus.change(|list| list.retain(|(key, _)| *key != self.key));
        }
    }
}
