//! A piece of a reply.

use std::fmt;

use serde_json::{Map, Value};
use turnwright_core::Usage;

/// A piece of a reply.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// The server's id for the response, once.
    Id(String),
    /// The name of the model, once.
    Model(String),
    /// More of the answer.
    Text(String),
    /// More reasoning.
    Reasoning {
        /// The text.
        text: String,
        /// The field that held it.
        field: ReasoningField,
    },
    /// Pieces of `reasoning_details`, which [`Collector`](super::Collector) assembles.
    ReasoningDetails(Vec<Value>),
    /// More of the model's refusal to answer.
    Refusal(String),
    /// More of a call.
    Call {
        /// The position of the call, starting at 0, in the order in which calls began.
        slot: usize,
        /// The id, in the first piece that has one.
        id: Option<String>,
        /// The name, or more of it.
        name: Option<String>,
        /// More of the arguments, as text.
        arguments: String,
        /// Fields that the protocol does not define. The server may expect them to be sent back.
        extra: Option<Map<String, Value>>,
    },
    /// Why the model stopped.
    Finish(String),
    /// Token usage up to here.
    Usage {
        /// Usage of this request. A later value replaces an earlier one.
        usage: Usage,
        /// Whether the server reported the number of cached input tokens.
        cached_reported: bool,
    },
    /// The end of the response: `[DONE]`, or the end of a body that was not streamed.
    Done,
}

/// The field that held reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningField {
    /// `reasoning_content`, as in DeepSeek.
    ReasoningContent,
    /// `reasoning`, as in OpenRouter.
    Reasoning,
    /// A content part of type `thinking`, as in Mistral.
    Thinking,
}

impl ReasoningField {
    /// Returns the name of the field or part type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning => "reasoning",
            ReasoningField::Thinking => "thinking",
        }
    }
}

impl Delta {
    /// Returns `true` if this is output of the model.
    pub(crate) fn is_content(&self) -> bool {
        matches!(
            self,
            Delta::Text(_) | Delta::Reasoning { .. } | Delta::Refusal(_) | Delta::Call { .. }
        )
    }
}

impl fmt::Debug for Delta {
    /// Shows only sizes: model output does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delta::Id(id) => write!(f, "Id({} bytes)", id.len()),
            Delta::Model(model) => write!(f, "Model({model:?})"),
            Delta::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Delta::Reasoning { text, field } => {
                write!(f, "Reasoning({} bytes in {})", text.len(), field.as_str())
            }
            Delta::ReasoningDetails(items) => write!(f, "ReasoningDetails({})", items.len()),
            Delta::Refusal(text) => write!(f, "Refusal({} bytes)", text.len()),
            Delta::Call {
                slot,
                name,
                arguments,
                ..
            } => write!(f, "Call({slot}, {name:?}, {} bytes)", arguments.len()),
            Delta::Finish(reason) => write!(f, "Finish({reason:?})"),
            Delta::Usage { usage, .. } => write!(f, "{usage:?}"),
            Delta::Done => f.write_str("Done"),
        }
    }
}
