//! Events: what happened in a turn, for [observers](EventBus::observe) and for the readers of its [stream](TurnStream).
//!
//! Both get the same [`Event`]. A stream has the events that can be shown to the users of an application
//! ([`EventKind::is_public`]). Observers get all events, except the pieces of texts (deltas and
//! [`Discarded`](EventKind::Discarded)), which are made for readers alone. Neither can slow down, change or break a turn.
//!
//! ```
//! use turnwright_core::DispatchContext;
//! use turnwright_core::event::Event;
//! use std::sync::{Arc, Mutex};
//!
//! let ctx = DispatchContext::standalone();
//! let names = Arc::new(Mutex::new(Vec::new()));
//! let seen = names.clone();
//! let observer = ctx.turn().events().observe(move |event: &Event| seen.lock().unwrap().push(event.name()));
//! // … run tools …
//! observer.remove();
//! assert!(names.lock().unwrap().is_empty());
//! ```

mod bus;
mod kind;
mod log;
mod stream;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;

pub use bus::{EventBus, Lagged, Observer, RunnerEvents};
pub use kind::{Compacted, Delta, EventKind};
pub use log::{Level, LogEntry};
pub use stream::TurnStream;

pub(crate) use stream::{EventHub, TextKind, TextRef};

use crate::record::rfc3339;

/// Something that happened in a turn.
///
/// Serialised as an object: `event` is the name of the kind, `time` is RFC 3339 text, and the fields of the kind follow. A record
/// has its public form (see [`Record`](crate::record::Record)), so that events of a stream can be forwarded to clients. The book
/// lists the names and has types for TypeScript.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// When it happened.
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "String")]
    pub time: SystemTime,
    /// The turn id.
    pub turn_id: Arc<str>,
    /// The conversation id. A generated id if the input named none.
    pub conversation_id: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Returns the serialised name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }
}

debug_fields!(Event { kind });
