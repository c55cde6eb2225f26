//! Events: the stream of a turn ([`TurnEvent`]), and what observers see of all turns ([`Event`]).
//!
//! Neither readers nor observers can slow down, change or break a turn.
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
mod level;
mod log_entry;
mod runner_events;
mod stream;
mod time;
mod turn_event;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

pub use bus::{EventBus, Observer};
pub use level::Level;
pub use log_entry::LogEntry;
pub use runner_events::{Lagged, RunnerEvents};
pub use stream::TurnStream;
pub use turn_event::{Delta, TurnEvent, TurnEventKind};

pub(crate) use stream::{EventHub, TextKind, TextRef};

use crate::effects::Effects;
use crate::record::{GateKind, TurnState};
use crate::schema::{Fault, Repair};
use crate::usage::{ModelUsage, Usage};
use time::{as_millis, rfc3339};

/// Something that happened in a turn, as observers see it.
///
/// Serialised, it is an object: `event` is the name of the kind, `time` is RFC 3339 text, and the fields of the kind follow.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// When it happened.
    #[serde(serialize_with = "rfc3339")]
    pub time: SystemTime,
    /// The turn.
    pub turn_id: Arc<str>,
    /// The conversation of the turn. A generated id if the input named none.
    pub conversation_id: Arc<str>,
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
        /// Whether the turn existed before and is resumed.
        resumed: bool,
    },
    /// A turn ended.
    #[non_exhaustive]
    TurnEnd {
        /// How it ended.
        status: TurnState,
        /// The code of the error if there is no answer.
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
        /// What it asks for.
        #[serde(rename = "name")]
        kind: GateKind,
        /// Which call waits, where one does.
        tool_call: Option<Arc<str>>,
        /// What is asked.
        question: Value,
    },
    /// A gate was closed. The gates of a turn that is suspended stay open.
    #[serde(rename = "turnGateClosed")]
    #[non_exhaustive]
    GateClosed {
        /// Which gate.
        id: Arc<str>,
        /// How: `resolved`, `rejected`, `timedOut` or `aborted`.
        how: &'static str,
    },
    /// An answer of the model was rejected, because it does not match its type or because middleware rejected it.
    #[non_exhaustive]
    AnswerRejected {
        /// The message that was the answer, if there was one.
        id: Option<Arc<str>>,
        /// The reason, as the model reads it.
        reason: String,
        /// How often the model may try again.
        retries_left: u32,
    },
    /// A log entry for operators: see [`LogEntry`].
    #[non_exhaustive]
    Log {
        /// How important it is.
        level: Level,
        /// What sort of entry it is, for filters.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<Cow<'static, str>>,
        /// The text.
        message: String,
        /// Data for programs.
        #[serde(skip_serializing_if = "Option::is_none")]
        payload: Option<Value>,
    },
    /// A response of the model is complete, with its tokens, finish reason and durations. One for each response.
    Usage(Arc<ModelUsage>),
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
            EventKind::AnswerRejected { .. } => "answerRejected",
            EventKind::Log { .. } => "log",
            EventKind::Usage(_) => "usage",
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
            EventKind::TurnEnd { status, .. } => debug.field("status", status),
            EventKind::GateOpened { id, .. } | EventKind::GateClosed { id, .. } => {
                debug.field("id", id)
            }
            _ => &mut debug,
        };
        debug.finish_non_exhaustive()
    }
}
