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
mod compacted;
mod level;
mod log_entry;
mod runner_events;
mod stream;
mod time;
mod turn_event;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use bus::{EventBus, Observer};
pub use compacted::Compacted;
pub use level::Level;
pub use log_entry::LogEntry;
pub use runner_events::{Lagged, RunnerEvents};
pub use stream::TurnStream;
pub use turn_event::{Delta, TurnEvent, TurnEventKind};

pub(crate) use stream::{EventHub, TextKind, TextRef};

use crate::effects::Effects;
use crate::principal::Principal;
use crate::record::{GateKind, TaintSource, TurnState};
use crate::schema::{Fault, Repair};
use crate::usage::{ModelUsage, Usage};
use time::{as_millis, rfc3339};

/// Something that happened in a turn, as observers see it.
///
/// Serialised as an object: `event` is the name of the kind, `time` is RFC 3339 text, and the fields of the kind follow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunnerEvent")]
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

/// What happened. Its serialised name is [`Event::name`].
#[derive(Clone, Serialize, JsonSchema)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum EventKind {
    /// A turn starts.
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
        /// The error code if there is no answer.
        code: Option<&'static str>,
        /// The duration of the turn.
        #[serde(rename = "durationMs", serialize_with = "as_millis")]
        #[schemars(with = "f64")]
        duration: Duration,
        /// Token usage.
        usage: Usage,
    },
    /// A dispatch starts.
    DispatchStart,
    /// A dispatch ended.
    #[non_exhaustive]
    DispatchEnd {
        /// The signal that ended it, if any: `ack` or `nack`.
        signal: Option<&'static str>,
        /// The number of iterations.
        iterations: u32,
    },
    /// An iteration starts.
    #[non_exhaustive]
    IterationStart {
        /// The number of the iteration, starting at 1.
        iteration: u32,
    },
    /// An iteration ended.
    #[non_exhaustive]
    IterationEnd {
        /// The number of the iteration, starting at 1.
        iteration: u32,
    },
    /// A gate was opened, and the turn waits for an answer.
    #[serde(rename = "turnGateOpen")]
    #[non_exhaustive]
    GateOpened {
        /// The gate id. Answers refer to it.
        id: Arc<str>,
        /// The kind of gate.
        #[serde(rename = "name")]
        #[schemars(with = "String")]
        kind: GateKind,
        /// The id of the call that waits, if any.
        tool_call: Option<Arc<str>>,
        /// The question.
        question: Value,
    },
    /// A gate was closed. The gates of a turn that is suspended stay open.
    #[serde(rename = "turnGateClosed")]
    #[non_exhaustive]
    GateClosed {
        /// The gate id.
        id: Arc<str>,
        /// How it was closed: `resolved`, `rejected`, `timedOut` or `aborted`.
        how: &'static str,
        /// Who answered, if the answer says so. Left out of the JSON otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Principal>,
        /// The note of the answer, if it has one. Left out of the JSON otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// An answer of the model was rejected, because it does not match its type or because middleware rejected it.
    #[non_exhaustive]
    AnswerRejected {
        /// The message that was the answer, if there was one.
        id: Option<Arc<str>>,
        /// The reason, as the model reads it.
        reason: String,
        /// How many retries are left.
        retries_left: u32,
    },
    /// The prompt was compacted: see [`compact`](crate::middleware::compact()).
    Compacted(Arc<Compacted>),
    /// A log entry for operators: see [`LogEntry`].
    #[non_exhaustive]
    Log {
        /// How important it is.
        level: Level,
        /// The kind of entry, for filters.
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
    /// An error occurred.
    #[non_exhaustive]
    Error {
        /// The error code.
        code: &'static str,
        /// Whether it is a programming error.
        fatal: bool,
        /// The message for operators.
        message: String,
        /// The pipeline in which it occurred, if any.
        pipeline: Option<&'static str>,
    },

    /// A call was refused. It did not run, and there is no start or end event.
    #[non_exhaustive]
    ToolCallRefused {
        /// The call id.
        id: Arc<str>,
        /// The checksum of the call.
        #[serde(rename = "callId")]
        checksum: Arc<str>,
        /// The name of the tool.
        tool: Arc<str>,
        /// The error code.
        code: &'static str,
        /// The message for operators.
        message: String,
        /// What is wrong with the arguments, if they are invalid.
        faults: Vec<Fault>,
        /// The reason of the policy or the approver, if the call was denied.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The records that made the prompt untrusted or private, if the call was denied for that.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        sources: Vec<TaintSource>,
    },
    /// A handler is about to run.
    #[non_exhaustive]
    ToolExecutionStart {
        /// The call id.
        id: Arc<str>,
        /// The checksum of the call.
        #[serde(rename = "callId")]
        checksum: Arc<str>,
        /// The name of the tool.
        tool: Arc<str>,
        /// The fingerprint of the tool.
        fingerprint: Arc<str>,
        /// The declared effects of the tool.
        effects: Effects,
        /// The checked arguments.
        args: Value,
        /// The repairs that were made to the arguments.
        repairs: Vec<Repair>,
    },
    /// A handler reports its progress.
    #[non_exhaustive]
    ToolExecutionProgress {
        /// The call id.
        id: Arc<str>,
        /// The checksum of the call.
        #[serde(rename = "callId")]
        checksum: Arc<str>,
        /// The name of the tool.
        tool: Arc<str>,
        /// The message of the handler.
        message: String,
    },
    /// A handler ended.
    #[non_exhaustive]
    ToolExecutionEnd {
        /// The call id.
        id: Arc<str>,
        /// The checksum of the call.
        #[serde(rename = "callId")]
        checksum: Arc<str>,
        /// The name of the tool.
        tool: Arc<str>,
        /// How long it ran.
        #[serde(rename = "durationMs", serialize_with = "as_millis")]
        #[schemars(with = "f64")]
        duration: Duration,
        /// Whether it failed.
        is_error: bool,
        /// The error code, if it failed.
        code: Option<&'static str>,
        /// The message for operators with its causes, if it failed.
        message: Option<String>,
        /// Whether its thread was detached and may still be running.
        abandoned: bool,
    },
    /// A warning: an operator should look at something, but the turn continues.
    #[non_exhaustive]
    Warning {
        /// The message for operators.
        message: String,
    },
}

impl EventKind {
    /// Returns the serialised name.
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
            EventKind::Compacted(_) => "compacted",
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
    /// Omits arguments, which may be secret. Serialise an event explicitly to see all of it.
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
            EventKind::Compacted(compacted) => debug.field("compacted", compacted),
            EventKind::GateOpened { id, .. } | EventKind::GateClosed { id, .. } => {
                debug.field("id", id)
            }
            _ => &mut debug,
        };
        debug.finish_non_exhaustive()
    }
}
