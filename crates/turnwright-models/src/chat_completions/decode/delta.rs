//! What one piece of a response says.

use std::fmt;

use serde_json::{Map, Value};
use turnwright_core::event::Usage;

/// A piece of a reply, in the order that they came.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// The server's id of the response; once.
    Id(String),
    /// The model that answers, by the name that the server gives it; once.
    Model(String),
    /// More of the answer.
    Text(String),
    /// More of what the model thinks.
    Reasoning {
        /// The text.
        text: String,
        /// Where it stood.
        field: ReasoningField,
    },
    /// `reasoning_details` as they came: pieces, which [`Collector`](super::Collector) puts together.
    ReasoningDetails(Vec<Value>),
    /// More of why the model will not answer.
    Refusal(String),
    /// More of a call.
    Call {
        /// Which call: counted from 0 in the order in which they began.
        slot: usize,
        /// The id, with the first piece that has one.
        id: Option<String>,
        /// The name, or more of it.
        name: Option<String>,
        /// More of the arguments, as text.
        arguments: String,
        /// Fields that are not of the protocol, which the server may want to see again.
        extra: Option<Map<String, Value>>,
    },
    /// Why the model stopped.
    Finish(String),
    /// What the response cost up to here.
    Usage {
        /// Tokens of this one request. A later one replaces an earlier one.
        usage: Usage,
        /// Whether the server said how much of the input was cached.
        cached_told: bool,
    },
    /// The server said that nothing follows: `[DONE]`, or the end of a body that was not streamed.
    Done,
}

/// Where thoughts stood on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningField {
    /// `reasoning_content`, as DeepSeek has it.
    ReasoningContent,
    /// `reasoning`, as OpenRouter has it.
    Reasoning,
    /// A part of the content of type `thinking`, as Mistral has it.
    Thinking,
}

impl ReasoningField {
    /// The name of the field, or of the type of the part.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning => "reasoning",
            ReasoningField::Thinking => "thinking",
        }
    }
}

/// Shows how large something is instead of what it says.
pub(super) struct Size(pub(super) usize);

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

impl fmt::Debug for Delta {
    /// What a model says is not for logs: sizes are shown.
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
            Delta::Usage { usage, cached_told } => f
                .debug_struct("Usage")
                .field("usage", usage)
                .field("cached_told", cached_told)
                .finish(),
            Delta::Done => f.write_str("Done"),
        }
    }
}
