//! A piece of a reply.

use std::fmt;

use serde_json::{Map, Value};
use turnwright_core::Usage;
use turnwright_core::trust::TrustTier;

use super::finish::Finish;
use super::usage::ReportedUsage;

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
    Reasoning(String),
    /// All text so far was reasoning: it ended in a tag that closes reasoning.
    TextWasReasoning,
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
        /// Fields that the server may expect back with the call.
        extra: Option<Map<String, Value>>,
    },
    /// Why the model stopped.
    Finish {
        /// The server's word.
        reason: String,
        /// What it means.
        finish: Finish,
    },
    /// Token usage up to here.
    Usage {
        /// Usage of this request. A later value replaces an earlier one.
        usage: Usage,
        /// The counts as the server reports them.
        reported: ReportedUsage,
    },
    /// What else the server says about the response. A later value replaces an earlier one.
    Detail {
        /// The name of the field.
        name: &'static str,
        /// The value.
        value: String,
    },
    /// The model has read what a tool returned that ran at the provider, of this tier.
    ProviderContent(TrustTier),
    /// The end of the response: the protocol's end mark, or the end of a body that was not streamed.
    Done,
}

impl Delta {
    /// Returns `true` if this is output of the model.
    pub(crate) fn is_content(&self) -> bool {
        matches!(
            self,
            Delta::Text(_) | Delta::Reasoning(_) | Delta::Refusal(_) | Delta::Call { .. }
        )
    }

    /// Whether it begins a call after so many known ones, or adds to the arguments of one.
    pub(super) fn extends_calls(&self, known: usize) -> bool {
        matches!(self, Delta::Call { slot, arguments, .. } if *slot >= known || !arguments.trim().is_empty())
    }
}

impl fmt::Debug for Delta {
    /// Shows only sizes: model output does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delta::Id(id) => write!(f, "Id({} bytes)", id.len()),
            Delta::Model(model) => write!(f, "Model({model:?})"),
            Delta::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Delta::Reasoning(text) => write!(f, "Reasoning({} bytes)", text.len()),
            Delta::TextWasReasoning => f.write_str("TextWasReasoning"),
            Delta::Refusal(text) => write!(f, "Refusal({} bytes)", text.len()),
            Delta::Call {
                slot,
                name,
                arguments,
                ..
            } => write!(f, "Call({slot}, {name:?}, {} bytes)", arguments.len()),
            Delta::Finish { reason, .. } => write!(f, "Finish({reason:?})"),
            Delta::Usage { usage, .. } => write!(f, "{usage:?}"),
            Delta::Detail { name, value } => write!(f, "Detail({name}, {} bytes)", value.len()),
            Delta::ProviderContent(tier) => write!(f, "ProviderContent({tier:?})"),
            Delta::Done => f.write_str("Done"),
        }
    }
}

/// The beginnings of the names of tools whose results are public, without underscores and capitals.
const PUBLIC: [&str; 8] = [
    "websearch",
    "webfetch",
    "browsersearch",
    "googlesearch",
    "googlemaps",
    "urlcontext",
    "urlcitation",
    "xsearch",
];

/// Returns the tier of what a tool of the provider returns, by the type of the tool or of its part of the response. What is not
/// known to be public may come from a file, a mailbox or a connected service.
pub(crate) fn provider_tier(kind: &str) -> TrustTier {
    // Some servers put a name and a colon before it.
    let kind = kind.rsplit(':').next().unwrap_or_default();
    let kind = kind.replace('_', "").to_lowercase();
    if PUBLIC.iter().any(|public| kind.starts_with(public)) {
        TrustTier::ThirdPartyPublic
    } else {
        TrustTier::ThirdPartyPrivate
    }
}

/// Returns the delta for a part of a response that a tool of the provider returned.
pub(crate) fn provider_content(kind: &str) -> Delta {
    Delta::ProviderContent(provider_tier(kind))
}

/// Returns the delta for a source that a server names, such as `{"type": "url_citation"}`. Without a type, it is a page.
pub(crate) fn cited(source: &Value) -> Delta {
    let kind = source.get("type").and_then(Value::as_str);
    provider_content(kind.unwrap_or("url_citation"))
}
