//! Token counts, which servers report in many forms.

use serde_json::Value;
use turnwright_core::Usage;

use super::chunk::Chunk;
use crate::decode::{ReportedUsage, count};

/// Returns the usage that a chunk reports.
pub(super) fn read(chunk: &Chunk<'_>) -> Option<(Usage, ReportedUsage)> {
    let of_groq = || parse(chunk.x_groq.as_ref()?.get("usage")?);
    chunk.usage.as_ref().and_then(parse).or_else(of_groq)
}

fn parse(usage: &Value) -> Option<(Usage, ReportedUsage)> {
    let input = count(usage, &["prompt_tokens", "input_tokens"]);
    let output = count(usage, &["completion_tokens", "output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let within = |details: &str, name| count(usage.get(details)?, &[name]);
    let elsewhere = [
        "prompt_cache_hit_tokens",
        "cache_read_input_tokens",
        "cached_tokens",
    ];
    let cached = within("prompt_tokens_details", "cached_tokens");
    let cached = cached.or_else(|| count(usage, &elsewhere));
    let thoughts = within("completion_tokens_details", "reasoning_tokens");
    let thoughts = thoughts.or_else(|| count(usage, &["reasoning_tokens"]));
    let tokens = Usage::tokens(input.unwrap_or(0), output.unwrap_or(0))
        .cached(cached.unwrap_or(0))
        .reasoning(thoughts.unwrap_or(0));
    let reported = ReportedUsage {
        input: Some(tokens.input_tokens),
        output: Some(tokens.output_tokens),
        cached,
        reasoning: thoughts,
        ..ReportedUsage::default()
    };
    Some((tokens, reported))
}
