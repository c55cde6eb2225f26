//! What a response says, once all of it is there.

use std::fmt;

use serde_json::{Map, Value, json};
use turnwright_core::event::Usage;

use super::delta::{ReasoningField, Size};

/// A model's reply, as it came over the wire.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The server's id of the response.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The answer.
    pub text: String,
    /// What the model thought.
    pub reasoning: String,
    /// Where the thoughts stood first.
    pub reasoning_field: Option<ReasoningField>,
    /// Thoughts as the server wants to see them again.
    pub reasoning_details: Vec<Value>,
    /// Why the model will not answer.
    pub refusal: String,
    /// Calls, in the order in which they began.
    pub tool_calls: Vec<ReplyCall>,
    /// Why the model stopped; never empty.
    pub finish_reason: Option<String>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// Whether the server said how much of the input was cached.
    pub cached_told: bool,
    /// Whether the server said that nothing follows.
    pub done: bool,
    /// Whether something came after the finish reason, and the server has not ended the response again since.
    pub(super) goes_on: bool,
}

/// A call of a reply. Its arguments are as they were sent, and may have been cut off.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ReplyCall {
    /// The server's id of the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as text.
    pub arguments: String,
    /// Fields that are not of the protocol, which the server may want to see again.
    pub extra: Option<Map<String, Value>>,
}

impl Reply {
    /// Whether the response is known to be complete: its finish reason is one of those that end a complete response, such
    /// as `stop` or `tool_calls`, and nothing came after it that the server did not end too.
    ///
    /// Only the calls of such a reply may be executed. A finish reason that is not known does not count.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.goes_on && self.finish_reason.as_deref().is_some_and(ends_whole)
    }

    /// Whether the server ended the response, for whatever reason other than one that is known to cut it off.
    pub(crate) fn has_ended(&self) -> bool {
        !self.goes_on && self.finish_reason.is_some() && self.cut().is_none()
    }

    /// What the response was cut off by, where its reason to stop says so.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        cut_by(self.finish_reason.as_deref()?)
    }

    /// The parts of it that every server has, as JSON: `text`, `reasoning`, `refusal`, `tool_calls`, `finish_reason` and
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
                "cached": self.cached_told.then_some(usage.cached_input_tokens),
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

/// What cut a response off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cut {
    /// It came to a limit of tokens.
    Length,
    /// A filter of the provider stopped it.
    Filter,
    /// The provider failed, or called it off.
    Failure,
}

/// What a response that stopped for this reason was cut off by, if it was. Blanks around the reason do not count.
pub(super) fn cut_by(reason: &str) -> Option<Cut> {
    let named = |(cut, _): &&(&str, Cut)| reason.trim().eq_ignore_ascii_case(cut);
    CUT_OFF.iter().find(named).map(|(_, cut)| *cut)
}

/// Whether this reason is known to end a complete response. Nothing is read into one that is written otherwise.
fn ends_whole(reason: &str) -> bool {
    WHOLE.iter().any(|it| reason.eq_ignore_ascii_case(it))
}

/// Which of two reasons counts: one that is known to cut a response off, then one that is not known.
pub(super) fn severity(reason: &str) -> u8 {
    match (cut_by(reason), ends_whole(reason)) {
        (Some(_), _) => 2,
        (None, false) => 1,
        (None, true) => 0,
    }
}

/// The reasons that end a complete response: the protocol's own, and what servers say in their place. The calls of a
/// response that ended for any other reason are not executed.
const WHOLE: &[&str] = &[
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

/// The protocol's own reasons for a response that was cut off, and what servers say in their place.
const CUT_OFF: &[(&str, Cut)] = &[
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
    /// What a model says is not for logs: sizes are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("model", &self.model)
            .field("text", &Size(self.text.len()))
            .field("reasoning", &Size(self.reasoning.len()))
            .field("reasoning_field", &self.reasoning_field)
            .field("reasoning_details", &self.reasoning_details.len())
            .field("refusal", &Size(self.refusal.len()))
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
            .field("arguments", &Size(self.arguments.len()))
            .finish_non_exhaustive()
    }
}
