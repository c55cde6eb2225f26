//! A complete or truncated reply.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};
use turnwright_core::Usage;
use turnwright_core::trust::TrustTier;

use super::finish::{Cut, Finish};
use super::usage::ReportedUsage;

/// A reply of a model, as received.
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
    /// Why the model declined to answer.
    pub refusal: String,
    /// Calls, in the order in which they began.
    pub tool_calls: Vec<ReplyCall>,
    /// The finish reason, in the server's word; never empty.
    pub finish_reason: Option<String>,
    /// What the finish reason means.
    pub finish: Option<Finish>,
    /// Token usage.
    pub usage: Option<Usage>,
    /// The token counts as the server reports them.
    pub reported_usage: Option<ReportedUsage>,
    /// What else the server says about the response, such as the stop sequence that it reached.
    pub details: BTreeMap<&'static str, String>,
    /// What the provider expects back with this response. Its form depends on the protocol.
    pub state: Map<String, Value>,
    /// The trust tiers of what the model has read in this response, because tools that ran at the provider returned it.
    pub provider_content: BTreeSet<TrustTier>,
    /// Whether the server marked the end of the response.
    pub done: bool,
    /// Whether output followed the finish reason without another finish reason. The end of the response completes text,
    /// but not a call that began there.
    pub(super) continues: bool,
}

/// A call of a reply. Its arguments are as received and may be truncated.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ReplyCall {
    /// The server's id for the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as text.
    pub arguments: String,
    /// Fields that the server may expect back with the call.
    pub extra: Option<Map<String, Value>>,
}

impl Reply {
    /// Returns `true` if the response is known to be complete: its finish reason is one that ends a complete
    /// response, such as `stop` or `tool_calls`, and no output followed it without another finish reason.
    ///
    /// Only the calls of a complete reply may be executed. An unknown finish reason does not count as complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.continues && self.finish.is_some_and(Finish::is_complete)
    }

    /// Returns `true` if the server ended the response, for any reason that is not known to truncate it.
    pub(crate) fn has_ended(&self) -> bool {
        !self.continues && self.finish.is_some_and(|finish| finish.cut().is_none())
    }

    /// Returns what truncated the response, according to its finish reason.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        self.finish?.cut()
    }
}

impl fmt::Debug for Reply {
    /// Shows only sizes: model output does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("model", &self.model)
            .field("text", &size(&self.text))
            .field("reasoning", &size(&self.reasoning))
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
