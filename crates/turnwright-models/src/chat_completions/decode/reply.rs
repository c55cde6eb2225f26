//! A complete or truncated reply.

use std::fmt;

use serde_json::{Map, Value, json};
use turnwright_core::Usage;
use turnwright_core::dispatch::FinishReason;

use super::delta::ReasoningField;

/// A reply of a model, as it was received.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The server's id for the response.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The answer.
    pub text: String,
    /// The reasoning.
    pub reasoning: String,
    /// The field in which reasoning first appeared.
    pub reasoning_field: Option<ReasoningField>,
    /// Reasoning in the form that the server expects back.
    pub reasoning_details: Vec<Value>,
    /// Why the model declined to answer.
    pub refusal: String,
    /// Calls, in the order in which they began.
    pub tool_calls: Vec<ReplyCall>,
    /// Why the model stopped; never empty.
    pub finish_reason: Option<String>,
    /// Token usage.
    pub usage: Option<Usage>,
    /// Whether the server reported the number of cached input tokens.
    pub cached_reported: bool,
    /// Whether the server marked the end of the response.
    pub done: bool,
    /// Whether output followed the finish reason, without another end.
    pub(super) continues: bool,
}

/// A call of a reply. Its arguments are as received, and can be truncated.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ReplyCall {
    /// The server's id for the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as text.
    pub arguments: String,
    /// Fields that the protocol does not define. The server may expect them back.
    pub extra: Option<Map<String, Value>>,
}

impl Reply {
    /// Whether the response is known to be complete: its finish reason is one of those that end a complete response, such
    /// as `stop` or `tool_calls`, and no output followed without another end.
    ///
    /// Only the calls of such a reply may be executed. An unknown finish reason does not count.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.continues
            && self
                .finish_reason
                .as_deref()
                .is_some_and(is_complete_reason)
    }

    /// Whether the server ended the response, for any reason that is not known to truncate it.
    pub(crate) fn has_ended(&self) -> bool {
        !self.continues && self.finish_reason.is_some() && self.cut().is_none()
    }

    /// What truncated the response, according to its finish reason.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        cut_by(self.finish_reason.as_deref()?)
    }

    /// The parts that every server has, as JSON: `text`, `reasoning`, `refusal`, `tool_calls`, `finish_reason` and
    /// `usage`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let calls = self.tool_calls.iter().map(|call| {
            json!({
                "id": call.id.as_deref().unwrap_or_default(),
                "name": call.name,
                "arguments": call.arguments,
            })
        });
        let usage = self.usage.map(|usage| {
            json!({
                "input": usage.input_tokens,
                "output": usage.output_tokens,
                "cached": self.cached_reported.then_some(usage.cached_input_tokens),
            })
        });
        json!({
            "text": self.text,
            "reasoning": self.reasoning,
            "refusal": self.refusal,
            "tool_calls": calls.collect::<Vec<_>>(),
            "finish_reason": self.finish_reason,
            "usage": usage,
        })
    }
}

/// What truncated a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cut {
    /// The token limit was reached.
    Length,
    /// A filter of the provider stopped it.
    Filter,
    /// The provider failed or cancelled it.
    Failure,
}

/// What truncated a response with this finish reason, if it is truncated. Ignores whitespace around the reason.
pub(super) fn cut_by(reason: &str) -> Option<Cut> {
    let named = |(cut, _): &&(&str, Cut)| reason.trim().eq_ignore_ascii_case(cut);
    CUT_REASONS.iter().find(named).map(|(_, cut)| *cut)
}

/// Whether this reason is known to end a complete response.
fn is_complete_reason(reason: &str) -> bool {
    COMPLETE_REASONS
        .iter()
        .any(|known| reason.eq_ignore_ascii_case(known))
}

/// The neutral name of a finish reason, if it has one.
pub(crate) fn neutral(reason: &str) -> Option<FinishReason> {
    let reason = reason.trim();
    let calls = |name: &&str| reason.eq_ignore_ascii_case(name);
    match cut_by(reason) {
        Some(Cut::Length) => Some(FinishReason::Length),
        Some(Cut::Filter) => Some(FinishReason::ContentFilter),
        Some(Cut::Failure) => None,
        None if CALL_REASONS.iter().any(calls) => Some(FinishReason::ToolCalls),
        None => is_complete_reason(reason).then_some(FinishReason::Stop),
    }
}

/// The rank of a finish reason if there are several: truncated over unknown over complete.
pub(super) fn severity(reason: &str) -> u8 {
    match (cut_by(reason), is_complete_reason(reason)) {
        (Some(_), _) => 2,
        (None, false) => 1,
        (None, true) => 0,
    }
}

/// Finish reasons of a complete response: those of the protocol, and variants of servers. Calls of a response with any other
/// reason are not executed.
const COMPLETE_REASONS: &[&str] = &[
    "stop",
    "tool_calls",
    "function_call",
    "tool_call",
    "tool_use",
    "end_turn",
    "stop_sequence",
    "eos",
    "eos_token",
    "complete",
];

/// Those of them that say that the model waits for results.
const CALL_REASONS: &[&str] = &["tool_calls", "function_call", "tool_call", "tool_use"];

/// Finish reasons of a truncated response: those of the protocol, and variants of servers.
const CUT_REASONS: &[(&str, Cut)] = &[
    ("length", Cut::Length),
    ("model_length", Cut::Length),
    ("max_tokens", Cut::Length),
    ("max_output_tokens", Cut::Length),
    ("model_context_window_exceeded", Cut::Length),
    ("content_filter", Cut::Filter),
    ("safety", Cut::Filter),
    ("sensitive", Cut::Filter),
    ("error", Cut::Failure),
    ("insufficient_system_resource", Cut::Failure),
    ("network_error", Cut::Failure),
    ("timeout", Cut::Failure),
    ("abort", Cut::Failure),
    ("aborted", Cut::Failure),
    ("cancelled", Cut::Failure),
    ("canceled", Cut::Failure),
];

impl fmt::Debug for Reply {
    /// Shows sizes: output of a model is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("model", &self.model)
            .field("text", &size(&self.text))
            .field("reasoning", &size(&self.reasoning))
            .field("reasoning_field", &self.reasoning_field)
            .field("reasoning_details", &self.reasoning_details.len())
            .field("refusal", &size(&self.refusal))
            .field("tool_calls", &self.tool_calls)
            .field("finish_reason", &self.finish_reason)
            .field("usage", &self.usage)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ReplyCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyCall")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("arguments", &size(&self.arguments))
            .finish_non_exhaustive()
    }
}

/// Shows a size instead of the content.
fn size(text: &str) -> impl fmt::Debug {
    fmt::from_fn(move |f| write!(f, "{} bytes", text.len()))
}
