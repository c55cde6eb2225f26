//! Token counts, which servers report in many forms.

use serde_json::Value;

use super::chunk::Chunk;
use crate::decode::{Delta, ReportedUsage, count};

/// Returns the usage that a chunk reports.
pub(super) fn read(chunk: &Chunk<'_>) -> Option<Delta> {
    let of_groq = || parse(chunk.x_groq.as_ref()?.get("usage")?);
    chunk.usage.as_ref().and_then(parse).or_else(of_groq)
}

fn parse(usage: &Value) -> Option<Delta> {
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
    let reported = ReportedUsage {
        input: input.or(Some(0)),
        output: output.or(Some(0)),
        cached,
        reasoning: thoughts,
        ..ReportedUsage::default()
    };
    reported.delta(0, 0)
}
