//! Why a model stopped.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Why a model stopped, in words that do not depend on the protocol. Serialised as text.
///
/// ```
/// use turnwright_core::dispatch::FinishReason;
///
/// assert_eq!(FinishReason::ToolCalls.as_str(), "tool_calls");
/// assert_eq!(FinishReason::Other("eos_42".into()).as_str(), "eos_42");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The response is complete: a natural end or a stop sequence.
    Stop,
    /// The response is complete, and the model waits for the results of its tool calls.
    ToolCalls,
    /// The response reached the token limit or the end of the context window.
    Length,
    /// A filter of the provider stopped the response.
    ContentFilter,
    /// A reason that has no neutral name, as the provider wrote it.
    Other(Arc<str>),
}

impl FinishReason {
    /// Returns the name under which it is serialised.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::Length => "length",
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Other(reason) => reason,
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}
