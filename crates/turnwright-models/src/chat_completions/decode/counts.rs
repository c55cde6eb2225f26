//! How many tokens a response cost, in the many ways that servers say so.

use serde::Deserialize as _;
use serde_json::Value;
use turnwright_core::event::Usage;

use super::chunk::Chunk;
use super::shape::Count;

/// The usage that a chunk tells, and whether it tells how much of the input was cached.
pub(super) fn told(chunk: &Chunk<'_>) -> Option<(Usage, bool)> {
    let of_groq = || usage(chunk.x_groq.as_ref()?.get("usage")?);
    chunk.usage.as_ref().and_then(usage).or_else(of_groq)
}

fn usage(told: &Value) -> Option<(Usage, bool)> {
    let input = count(told, &["prompt_tokens", "input_tokens"]);
    let output = count(told, &["completion_tokens", "output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let within = |details: &str, name| count(told.get(details)?, &[name]);
    let elsewhere = [
        "prompt_cache_hit_tokens",
        "cache_read_input_tokens",
        "cached_tokens",
    ];
    let cached = within("prompt_tokens_details", "cached_tokens");
    let cached = cached.or_else(|| count(told, &elsewhere));
    let thoughts = within("completion_tokens_details", "reasoning_tokens");
    let thoughts = thoughts.or_else(|| count(told, &["reasoning_tokens"]));
    let usage = Usage::tokens(input.unwrap_or(0), output.unwrap_or(0))
        .cached(cached.unwrap_or(0))
        .reasoning(thoughts.unwrap_or(0));
    Some((usage, cached.is_some()))
}

/// The first of these that is a number. Counts are good to have: where they cannot be read there are none.
fn count(told: &Value, names: &[&str]) -> Option<u64> {
    let mut counts = names.iter().filter_map(|name| told.get(*name));
    counts.find_map(|count| Count::deserialize(count).ok()?.0)
}
