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

mod bus;
mod level;
mod stream;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

pub use bus::{EventBus, Observer};
pub use level::Level;
pub use stream::{Delta, TurnEvent};

pub(crate) use stream::{send, send_now};

use crate::effects::Effects;
use crate::schema::{Fault, Repair};
use crate::usage::Usage;

/// Something that happened in a turn.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// The turn.
    pub turn_id: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// The name under which it is serialised.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }
}

/// What happened. Its serialised name is [`Event::name`].
#[derive(Clone, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum EventKind {
    /// A turn begins.
    #[non_exhaustive]
    TurnStart {
        /// The conversation that it belongs to.
        conversation: Arc<str>,
        /// Whether it was there before, and is taken up again.
        resumed: bool,
    },
    /// A turn ended, in whatever way.
    #[non_exhaustive]
    TurnEnd {
        /// How: `answered`, `refused`, `aborted`, `failed` or `limit`.
        ended: &'static str,
        /// Why, as a stable code, where it went wrong.
        code: Option<&'static str>,
        /// How long it took.
        #[serde(rename = "durationMs", serialize_with = "as_millis")]
        duration: Duration,
        /// What it used.
        usage: Usage,
    },
    /// A dispatch begins.
    DispatchStart,
    /// A dispatch ended.
    #[non_exhaustive]
    DispatchEnd {
        /// The signal that ended it, if one did: `ack` or `nack`.
        signal: Option<&'static str>,
        /// The iterations that it took.
        iterations: u32,
    },
    /// An iteration begins.
    #[non_exhaustive]
    IterationStart {
        /// Counted from 1.
        iteration: u32,
    },
    /// An iteration ended, in whatever way.
    #[non_exhaustive]
    IterationEnd {
        /// Counted from 1.
        iteration: u32,
    },
    /// Somebody is asked, and waited for.
    #[serde(rename = "turnGateOpen")]
    #[non_exhaustive]
    GateOpened {
        /// Which gate: what an answer names.
        id: Arc<str>,
        /// What sort of question.
        name: Arc<str>,
        /// Which call waits, where one does.
        tool_call: Option<Arc<str>>,
        /// What is asked.
        question: Value,
    },
    /// Nobody is waited for any more.
    #[serde(rename = "turnGateClosed")]
    #[non_exhaustive]
    GateClosed {
        /// Which gate.
        id: Arc<str>,
        /// How: `resolved`, `rejected`, `timedOut` or `aborted`.
        how: &'static str,
    },
    /// Somebody in the turn has something to say to operators.
    #[non_exhaustive]
    Log {
        /// How much it matters.
        level: Level,
        /// In their words.
        message: String,
    },
    /// The model was used.
    #[non_exhaustive]
    Usage {
        /// How much of it, this time.
        usage: Usage,
    },
    /// Something went wrong.
    #[non_exhaustive]
    Error {
        /// What, as a stable code.
        code: &'static str,
        /// Whether it is a mistake of the programmer.
        fatal: bool,
        /// For operators.
        message: String,
        /// The pipeline that it happened in, if it did in one.
        pipeline: Option<&'static str>,
    },

    /// A call was refused: nothing ran, and neither start nor end is told.
    #[non_exhaustive]
    ToolCallRefused {
        /// Which call.
        id: Arc<str>,
        /// What was asked for.
        #[serde(rename = "callId")]
        checksum: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// Why, as a stable code.
        code: &'static str,
        /// Why, for operators.
        message: String,
        /// What was wrong with the arguments, where that was the reason.
        faults: Vec<Fault>,
    },
    /// A handler is about to run.
    #[non_exhaustive]
    ToolExecutionStart {
        /// Which call.
        id: Arc<str>,
        /// What was asked for.
        #[serde(rename = "callId")]
        checksum: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// The tool's fingerprint: what it is that runs.
        fingerprint: Arc<str>,
        /// What it may do to the world.
        effects: Effects,
        /// The checked arguments.
        args: Value,
        /// What checking changed to make them so.
        repairs: Vec<Repair>,
    },
    /// A handler says how far it is.
    #[non_exhaustive]
    ToolExecutionProgress {
        /// Which call.
        id: Arc<str>,
        /// What was asked for.
        #[serde(rename = "callId")]
        checksum: Arc<str>,
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
        #[serde(rename = "callId")]
        checksum: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// How long it took.
        #[serde(rename = "durationMs", serialize_with = "as_millis")]
        duration: Duration,
        /// Whether it failed.
        is_error: bool,
        /// Why, as a stable code.
        code: Option<&'static str>,
        /// Why, for operators, with what caused it.
        message: Option<String>,
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

impl EventKind {
    /// The name under which it is serialised.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            EventKind::TurnStart { .. } => "turnStart",
            EventKind::TurnEnd { .. } => "turnEnd",
            EventKind::DispatchStart => "dispatchStart",
            EventKind::DispatchEnd { .. } => "dispatchEnd",
            EventKind::IterationStart { .. } => "iterationStart",
            EventKind::IterationEnd { .. } => "iterationEnd",
            EventKind::GateOpened { .. } => "turnGateOpen",
            EventKind::GateClosed { .. } => "turnGateClosed",
            EventKind::Log { .. } => "log",
            EventKind::Usage { .. } => "usage",
            EventKind::Error { .. } => "error",
            EventKind::ToolCallRefused { .. } => "toolCallRefused",
            EventKind::ToolExecutionStart { .. } => "toolExecutionStart",
            EventKind::ToolExecutionProgress { .. } => "toolExecutionProgress",
            EventKind::ToolExecutionEnd { .. } => "toolExecutionEnd",
            EventKind::Warning { .. } => "warning",
        }
    }
}

impl fmt::Debug for EventKind {
    /// Arguments may hold secrets: serialise an event on purpose to see all of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct(self.name());
        match self {
            EventKind::ToolCallRefused { id, tool, .. }
            | EventKind::ToolExecutionStart { id, tool, .. }
            | EventKind::ToolExecutionProgress { id, tool, .. }
            | EventKind::ToolExecutionEnd { id, tool, .. } => {
                debug.field("id", id).field("tool", tool)
            }
            EventKind::Warning { message }
            | EventKind::Log { message, .. }
            | EventKind::Error { message, .. } => debug.field("message", message),
            EventKind::IterationStart { iteration } | EventKind::IterationEnd { iteration } => {
                debug.field("iteration", iteration)
            }
            EventKind::TurnEnd { ended, .. } => debug.field("ended", ended),
            EventKind::GateOpened { id, .. } | EventKind::GateClosed { id, .. } => {
                debug.field("id", id)
            }
            _ => &mut debug,
        };
        debug.finish_non_exhaustive()
    }
}
