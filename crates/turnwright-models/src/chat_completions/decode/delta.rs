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
    /// More of why the model declines to answer.
    Refusal(String),
    /// More of a call.
    Call {
        /// The position of the call, counted from 0 in the order in which calls began.
        slot: usize,
        /// The id, in the first piece that has one.
        id: Option<String>,
        /// The name, or more of it.
        name: Option<String>,
        /// More of the arguments, as text.
        arguments: String,
        /// Fields that the protocol does not define. The server may expect them back.
        extra: Option<Map<String, Value>>,
    },
    /// Why the model stopped.
    Finish(String),
    /// Token usage up to here.
    Usage {
        /// Usage of this request. A later one replaces an earlier one.
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
    /// The name of the field or part type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning => "reasoning",
            ReasoningField::Thinking => "thinking",
        }
    }
}

/// Shows a size instead of the content.
pub(super) struct Size(pub(super) usize);

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

impl fmt::Debug for Delta {
    /// Shows sizes: output of a model is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delta::Id(id) => f.debug_tuple("Id").field(&Size(id.len())).finish(),
            Delta::Model(model) => f.debug_tuple("Model").field(model).finish(),
            Delta::Text(text) => f.debug_tuple("Text").field(&Size(text.len())).finish(),
            Delta::Reasoning { text, field } => f
                .debug_struct("Reasoning")
                .field("text", &Size(text.len()))
                .field("field", field)
                .finish(),
            Delta::ReasoningDetails(items) => f
                .debug_tuple("ReasoningDetails")
                .field(&items.len())
                .finish(),
            Delta::Refusal(text) => f.debug_tuple("Refusal").field(&Size(text.len())).finish(),
            Delta::Call {
                slot,
                id,
                name,
                arguments,
                extra,
            } => f
                .debug_struct("Call")
                .field("slot", slot)
                .field("id", id)
                .field("name", name)
                .field("arguments", &Size(arguments.len()))
                .field("extra", &extra.is_some())
                .finish(),
            Delta::Finish(reason) => f.debug_tuple("Finish").field(reason).finish(),
            Delta::Usage {
                usage,
                cached_reported,
            } => f
                .debug_struct("Usage")
                .field("usage", usage)
                .field("cached_reported", cached_reported)
                .finish(),
            Delta::Done => f.write_str("Done"),
        }
    }
}
