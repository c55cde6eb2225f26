//! Token counts. The input includes cached tokens, and the output includes reasoning.

use serde_json::Value;
use turnwright_core::Usage;

use crate::decode::{ReportedUsage, count};

/// Returns the usage of a response.
pub(super) fn read(usage: &Value) -> Option<(Usage, ReportedUsage)> {
    let within = |details: &str, name| count(usage.get(details)?, &[name]);
    let reported = ReportedUsage {
        input: count(usage, &["input_tokens", "prompt_tokens"]),
        output: count(usage, &["output_tokens", "completion_tokens"]),
        cached: within("input_tokens_details", "cached_tokens"),
        cache_write: within("input_tokens_details", "cache_write_tokens"),
        reasoning: within("output_tokens_details", "reasoning_tokens"),
        ..ReportedUsage::default()
    };
    if reported.input.is_none() && reported.output.is_none() {
        return None;
    }
    let tokens = Usage::tokens(reported.input.unwrap_or(0), reported.output.unwrap_or(0))
        .cached(reported.cached.unwrap_or(0))
        .cache_written(reported.cache_write.unwrap_or(0))
        .reasoning(reported.reasoning.unwrap_or(0));
    Some((tokens, reported))
}
