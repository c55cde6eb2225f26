//! What happens, told to whoever wants to know. Observers see; they cannot change or break anything.
//!
//! ```
//! use turnwright_core::{DispatchContext, Event};
//! use std::sync::{Arc, Mutex};
//!
//! let ctx = DispatchContext::standalone();
//! let names = Arc::new(Mutex::new(Vec::new()));
//! let seen = names.clone();
//! let observer = ctx.events().observe(move |event: &Event| seen.lock().unwrap().push(event.name()));
//! // … run tools …
//! drop(observer);
//! assert!(names.lock().unwrap().is_empty());
//! ```

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::schema::Fault;

/// Something that happened. Its serialised name is [`Event::name`].
#[derive(Clone, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum Event {
    /// A call was refused: nothing ran, and neither start nor end is told.
    #[non_exhaustive]
    ToolCallRefused {
        /// Which call.
        id: Arc<str>,
        /// What was asked for.
        call_id: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// Why, as a stable code.
        code: &'static str,
        /// What was wrong with the arguments, where that was the reason.
        faults: Vec<Fault>,
    },
    /// A handler is about to run.
    #[non_exhaustive]
    ToolExecutionStart {
        /// Which call.
        id: Arc<str>,
        /// What was asked for.
        call_id: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// The checked arguments.
        args: Value,
    },
    /// A handler says how far it is.
    #[non_exhaustive]
    ToolExecutionProgress {
        /// Which call.
        id: Arc<str>,
        /// What was asked for.
        call_id: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// In its words.
        message: String,
    },
    /// A handler ended, in whatever way.
    #[non_exhaustive]
    ToolExecutionEnd {
        /// Which call.
        id: Arc<str>,
        /// What was asked for.
        call_id: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// How long it took.
        #[serde(rename = "durationMs", serialize_with = "as_millis")]
        duration: Duration,
        /// Whether it failed.
        is_error: bool,
        /// Why, as a stable code.
        code: Option<&'static str>,
        /// Its thread was left behind and may still be at work.
        abandoned: bool,
    },
    /// Something that an operator should look at, and that stopped nothing.
    #[non_exhaustive]
    Warning {
        /// What.
        message: String,
    },
}

fn as_millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
}

impl Event {
    /// The name under which it is serialised.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Event::ToolCallRefused { .. } => "toolCallRefused",
            Event::ToolExecutionStart { .. } => "toolExecutionStart",
            Event::ToolExecutionProgress { .. } => "toolExecutionProgress",
            Event::ToolExecutionEnd { .. } => "toolExecutionEnd",
            Event::Warning { .. } => "warning",
        }
    }
}

impl fmt::Debug for Event {
    /// Arguments may hold secrets: serialise an event on purpose to see all of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct(self.name());
        match self {
            Event::ToolCallRefused { id, tool, code, .. } => debug
                .field("id", id)
                .field("tool", tool)
                .field("code", code),
            Event::ToolExecutionStart { id, tool, .. }
            | Event::ToolExecutionProgress { id, tool, .. } => {
                debug.field("id", id).field("tool", tool)
            }
            Event::ToolExecutionEnd { id, tool, code, .. } => debug
                .field("id", id)
                .field("tool", tool)
                .field("code", code),
            Event::Warning { message } => debug.field("message", message),
        };
        debug.finish_non_exhaustive()
    }
}

type Observe = Arc<dyn Fn(&Event) + Send + Sync>;

/// Where events go. Clones share it.
#[derive(Clone, Default)]
pub struct EventBus(Arc<Observers>);

#[derive(Default)]
struct Observers {
    list: RwLock<Vec<(u64, Observe)>>,
    next: AtomicU64,
    count: AtomicUsize,
}

impl EventBus {
    /// Tells `observer` everything from now on, until the guard is dropped.
    pub fn observe(&self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Observer {
        let key = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut list = self.0.list.write();
        list.push((key, Arc::new(observer)));
        self.0.count.store(list.len(), Ordering::Release);
        Observer {
            bus: Arc::downgrade(&self.0),
            key,
        }
    }

    /// Tells an event; it is made only if somebody listens.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if self.0.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let event = event();
        // A copy of the list: an observer may add or drop observers.
        let observers: Vec<Observe> = self
            .0
            .list
            .read()
            .iter()
            .map(|(_, observe)| Arc::clone(observe))
            .collect();
        for observe in observers {
            // An observer that panics has only itself to blame; the turn goes on.
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| observe(&event)));
        }
    }
}

impl fmt::Debug for EventBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBus")
            .field("observers", &self.0.count.load(Ordering::Relaxed))
            .finish()
    }
}

/// Keeps an observer listening; dropping it ends that.
#[derive(Debug)]
#[must_use = "dropping this ends the observation at once"]
pub struct Observer {
    bus: Weak<Observers>,
    key: u64,
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observers")
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if let Some(bus) = self.bus.upgrade() {
            let mut list = bus.list.write();
            list.retain(|(key, _)| *key != self.key);
            bus.count.store(list.len(), Ordering::Release);
        }
    }
}
