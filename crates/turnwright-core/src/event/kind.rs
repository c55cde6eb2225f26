//! What can happen in a turn.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Level;
use crate::effects::Effects;
use crate::error::Error;
use crate::gate::{GateEnd, OpenGate, TurnWaiting};
use crate::outcome::{TurnHeld, TurnOutcome};
use crate::principal::Principal;
use crate::record::{Message, Record, TaintSource, Thought, ToolCall, TurnState};
use crate::schema::{Fault, Repair};
use crate::usage::{ModelUsage, Usage};

/// What happened: the pieces of texts, the records that they become, the course of the turn, and messages for operators.
///
/// [`TurnStart`](Self::TurnStart) comes first and [`TurnEnd`](Self::TurnEnd) last, even for a turn that could not start. The
/// concatenated deltas of an id are the text of the record with that id.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum EventKind {
    /// The turn has started. Always the first event.
    #[non_exhaustive]
    TurnStart {
        /// Whether the turn existed before and is resumed.
        resumed: bool,
    },
    /// A piece of a message of the model.
    MessageDelta(Delta),
    /// A message of the model was stored, by any part of the program. If it is stored again, the event is repeated.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<Message>")]
    Message(Arc<Message>),
    /// A piece of a thought of the model.
    ThoughtDelta(Delta),
    /// A thought was stored.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<Thought>")]
    Thought(Arc<Thought>),
    /// A piece of the arguments of a call that the model proposes.
    ToolCallDelta {
        /// The name of the tool, as far as it is known.
        tool: Arc<str>,
        /// The piece. Its id is the [`ToolCall::id`] of the call.
        #[serde(flatten)]
        delta: Delta,
    },
    /// The pieces with this id so far are void. What follows starts from the beginning.
    Discarded {
        /// The id of the pieces.
        id: Arc<str>,
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
        /// The fingerprint of the tool. Not part of the JSON.
        #[serde(skip_serializing)]
        fingerprint: Arc<str>,
        /// The declared effects of the tool.
        effects: Effects,
        /// The checked arguments.
        args: Arc<Value>,
        /// The repairs that were made to the arguments.
        repairs: Arc<[Repair]>,
    },
    /// A handler reports its progress. A reader that lags gets only the latest report.
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
    /// A settled call was stored: by the call path, or by hand with
    /// [`store`](crate::tool::context::TurnRecords::store). Calls that run together come in the order in which they end;
    /// their records are in the proposed order.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<ToolCall>")]
    ToolCall(Arc<ToolCall>),
    /// A call of a truncated response was stored. It did not run and never will: its record has no result, and
    /// [`is_cut_off`](ToolCall::is_cut_off) and [`is_error`](ToolCall::is_error) are true.
    #[serde(serialize_with = "record")]
    #[schemars(with = "Of<ToolCall>")]
    ToolCallIncomplete(Arc<ToolCall>),
    /// A gate was opened, and the turn waits. Answer through the turn's [`Gates`](crate::gate::Gates).
    #[serde(rename = "turnGateOpen")]
    GateOpened(Arc<OpenGate>),
    /// A gate was closed. A turn that is suspended leaves its gates open: [`TurnEnd`](EventKind::TurnEnd) has them.
    #[serde(rename = "turnGateClosed")]
    #[non_exhaustive]
    GateClosed {
        /// The gate id.
        id: Arc<str>,
        /// How it was closed.
        how: GateEnd,
        /// Who answered, if the answer says so. Left out of the JSON otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Principal>,
        /// The note of the answer, if it has one. Left out of the JSON otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// An answer was rejected, because it does not match its type or because middleware rejected it. If there is a retry left,
    /// another message follows.
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
    /// A response of the model is complete, with its tokens, finish reason and durations. One for each response.
    Usage(Arc<ModelUsage>),
    /// The lease of the conversation belongs to another process, of which there is no sign of life yet. The turn, or the reader
    /// that follows it, waits until the lease is renewed, released or has expired.
    #[non_exhaustive]
    LeaseWait {
        /// The turn that holds the lease, if it is known.
        held_by: Option<Arc<str>>,
        /// The longest time until the lease expires, if its process is gone.
        #[serde(rename = "atMostMs", serialize_with = "as_millis")]
        #[schemars(with = "f64")]
        at_most: Duration,
    },
    /// The turn has ended. Always the last event.
    #[non_exhaustive]
    TurnEnd {
        /// How it ended.
        status: TurnState,
        /// The code of the error if there is no answer.
        code: Option<Cow<'static, str>>,
        /// The reason for users of the application if there is no answer, without the details of an error: those are for operators,
        /// in [`TurnOutcome::error`] and [`EventKind::Error`]. Left out of the JSON if there is an answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The other turn of the conversation because of which this one could not start, with the codes `E_TURN_WAITING` and
        /// `E_TURN_HELD`. Left out of the JSON if there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocked_by: Option<Arc<str>>,
        /// The gates of a suspended turn, or those at which the turn `blocked_by` waits. They stay open: no
        /// [`GateClosed`](EventKind::GateClosed) came for them. Left out of the JSON if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        gates: Vec<OpenGate>,
        /// The usage of the complete turn.
        usage: Usage,
        /// How long it ran.
        #[serde(rename = "durationMs", serialize_with = "as_millis")]
        #[schemars(with = "f64")]
        duration: Duration,
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
    /// A log entry for operators: see [`LogEntry`](super::LogEntry).
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
    /// A warning: an operator should look at something, but the turn continues.
    #[non_exhaustive]
    Warning {
        /// The message for operators.
        message: String,
    },
    /// An error occurred. That a turn cannot start because another one of the conversation runs or waits is none.
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
}

/// A piece of a text.
#[derive(Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Delta {
    /// The id of the record that the pieces become.
    pub id: Arc<str>,
    /// The number of bytes before this piece.
    pub offset: usize,
    /// The piece.
    pub text: String,
}

impl Delta {
    pub(crate) fn new(id: Arc<str>, offset: usize, text: impl Into<String>) -> Self {
        Delta {
            id,
            offset,
            text: text.into(),
        }
    }
}

/// How a prompt was compacted: what was replaced, and the estimated tokens before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Compacted {
    /// The number of tool results that became handles.
    pub handles: u64,
    /// The number of records that were replaced by the summary, without those of earlier summaries.
    pub records: u64,
    /// The number of exchanges that were replaced by the summary, without those of earlier summaries.
    pub exchanges: u64,
    /// The id of the summary, a [`Retrievable`](crate::record::Retrievable). `None` if only results became handles.
    pub summary: Option<Arc<str>>,
    /// The model that summarised the records. `None` if they were removed without being summarised.
    pub model: Option<Arc<str>>,
    /// The estimated tokens of the prompt before.
    pub tokens_before: u64,
    /// The estimated tokens of the prompt after.
    pub tokens_after: u64,
}

impl EventKind {
    /// Creates the last event of a turn.
    pub(crate) fn turn_end(outcome: &TurnOutcome, duration: Duration) -> Self {
        let error = outcome.error();
        let waiting = error.as_ref().and_then(Error::find_cause::<TurnWaiting>);
        let held = error.as_ref().and_then(Error::find_cause::<TurnHeld>);
        let other = waiting.map(|waiting| &waiting.turn_id);
        let other = other.or_else(|| held?.turn_id.as_ref());
        EventKind::TurnEnd {
            status: outcome.status.state(),
            code: error.as_ref().map(|error| error.code().as_str().into()),
            message: match (waiting, held) {
                (Some(waiting), _) => Some(waiting.to_string()),
                (_, Some(held)) => Some(held.to_string()),
                _ => (outcome.status.failure()).map(|failure| failure.public_message().to_owned()),
            },
            blocked_by: other.filter(|other| **other != outcome.turn_id).cloned(),
            gates: waiting.map_or_else(Vec::new, |waiting| waiting.gates.clone()),
            usage: outcome.usage,
            duration,
        }
    }

    /// Creates the event of a stored record, if its kind has one: messages of the model, thoughts, and calls that are settled or
    /// were part of a truncated response.
    pub(crate) fn of_record(record: &Record) -> Option<Self> {
        match record {
            Record::Message(message) if message.is_answer() => {
                Some(EventKind::Message(Arc::clone(message)))
            }
            Record::Thought(thought) => Some(EventKind::Thought(Arc::clone(thought))),
            Record::ToolCall(call) if call.is_open() => None,
            Record::ToolCall(call) if call.is_complete() => {
                Some(EventKind::ToolCall(Arc::clone(call)))
            }
            Record::ToolCall(call) => Some(EventKind::ToolCallIncomplete(Arc::clone(call))),
            _ => None,
        }
    }

    /// Creates the event of a stored record, with the time of the record.
    pub(crate) fn of_past_record(record: &Record) -> Option<(SystemTime, Self)> {
        let time = match record {
            Record::Message(message) => message.created_at(),
            Record::Thought(thought) => thought.created_at(),
            Record::ToolCall(call) => call.completed_at().unwrap_or(call.updated_at()),
            _ => return None,
        };
        Some((time, EventKind::of_record(record)?))
    }

    /// Returns whether the event is on the stream of its turn. Those events can be forwarded to the users of an application. The
    /// others are for operators: logs, warnings, errors with their causes, refused calls, the ends of handlers, and the steps of
    /// the loop.
    #[must_use]
    pub const fn is_public(&self) -> bool {
        !matches!(
            self,
            EventKind::DispatchStart
                | EventKind::DispatchEnd { .. }
                | EventKind::IterationStart { .. }
                | EventKind::IterationEnd { .. }
                | EventKind::ToolCallRefused { .. }
                | EventKind::ToolExecutionEnd { .. }
                | EventKind::Log { .. }
                | EventKind::Warning { .. }
                | EventKind::Error { .. }
        )
    }

    /// Returns the serialised name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            EventKind::TurnStart { .. } => "turnStart",
            EventKind::MessageDelta(_) => "messageDelta",
            EventKind::Message(_) => "message",
            EventKind::ThoughtDelta(_) => "thoughtDelta",
            EventKind::Thought(_) => "thought",
            EventKind::ToolCallDelta { .. } => "toolCallDelta",
            EventKind::Discarded { .. } => "discarded",
            EventKind::ToolExecutionStart { .. } => "toolExecutionStart",
            EventKind::ToolExecutionProgress { .. } => "toolExecutionProgress",
            EventKind::ToolCall(_) => "toolCall",
            EventKind::ToolCallIncomplete(_) => "toolCallIncomplete",
            EventKind::GateOpened(_) => "turnGateOpen",
            EventKind::GateClosed { .. } => "turnGateClosed",
            EventKind::AnswerRejected { .. } => "answerRejected",
            EventKind::Compacted(_) => "compacted",
            EventKind::Usage(_) => "usage",
            EventKind::LeaseWait { .. } => "leaseWait",
            EventKind::TurnEnd { .. } => "turnEnd",
            EventKind::DispatchStart => "dispatchStart",
            EventKind::DispatchEnd { .. } => "dispatchEnd",
            EventKind::IterationStart { .. } => "iterationStart",
            EventKind::IterationEnd { .. } => "iterationEnd",
            EventKind::ToolCallRefused { .. } => "toolCallRefused",
            EventKind::ToolExecutionEnd { .. } => "toolExecutionEnd",
            EventKind::Log { .. } => "log",
            EventKind::Warning { .. } => "warning",
            EventKind::Error { .. } => "error",
        }
    }
}

/// The fields of the event of a record.
#[derive(Serialize, JsonSchema)]
struct Of<T> {
    record: T,
}

fn record<S: Serializer>(record: &impl Serialize, to: S) -> Result<S::Ok, S::Error> {
    Of { record }.serialize(to)
}

/// Formats as milliseconds with a fraction.
fn as_millis<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(duration.as_secs_f64() * 1000.0)
}

impl fmt::Debug for EventKind {
    /// Omits arguments and the output of the model, which may be secret. Serialise an event to see all of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct(self.name());
        if let EventKind::Warning { message }
        | EventKind::Log { message, .. }
        | EventKind::Error { message, .. } = self
        {
            debug.field("message", message);
        }
        debug.finish_non_exhaustive()
    }
}

debug_fields!(Delta { id, offset });

#[cfg(test)]
mod tests;
