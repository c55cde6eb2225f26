//! How a response ended.

use serde_json::Value;

use crate::decode::{Cut, Finish};

const MAX_OUTPUT_TOKENS: &str = "max_output_tokens";
const CONTENT_FILTER: &str = "content_filter";

/// Returns how a response with this status ended. `completed` is said of responses with calls too.
pub(super) fn finish(status: &str, details: Option<&Value>, has_calls: bool) -> Finish {
    match status {
        "completed" if has_calls => Finish::ToolCalls,
        "completed" => Finish::Stop,
        "incomplete" => {
            let reason = details.and_then(|details| details.get("reason")?.as_str());
            Finish::Cut(match reason {
                Some(MAX_OUTPUT_TOKENS | "max_tokens" | "length") => Cut::Length,
                Some(CONTENT_FILTER) => Cut::Filter,
                _ => Cut::Failure,
            })
        }
        "failed" | "cancelled" => Finish::Cut(Cut::Failure),
        _ => Finish::Unknown,
    }
}

/// Returns the protocol's word for what truncated a response.
pub(in crate::responses) fn incomplete_reason(cut: Cut) -> Option<&'static str> {
    match cut {
        Cut::Length => Some(MAX_OUTPUT_TOKENS),
        Cut::Filter => Some(CONTENT_FILTER),
        _ => None,
    }
}
