//! Token counts, which servers report in many forms.

use serde_json::Value;
use turnwright_core::Usage;

use super::chunk::Chunk;

/// Returns the usage that a chunk reports, and whether it includes the number of cached input tokens.
pub(super) fn read(chunk: &Chunk<'_>) -> Option<(Usage, bool)> {
    let of_groq = || parse(chunk.x_groq.as_ref()?.get("usage")?);
    chunk.usage.as_ref().and_then(parse).or_else(of_groq)
}

fn parse(usage: &Value) -> Option<(Usage, bool)> {
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
    Some((tokens, cached.is_some()))
}

/// Returns the first of these fields that is a number. Usage is optional: a count that cannot be parsed counts as
/// absent.
fn count(usage: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| match usage.get(*name)? {
        Value::Number(number) => number.as_u64().or_else(|| truncated(number.as_f64()?)),
        Value::String(text) => text.parse().ok().or_else(|| truncated(text.parse().ok()?)),
        _ => None,
    })
}

/// Rounds towards zero and saturates; a negative number is zero.
fn truncated(number: f64) -> Option<u64> {
    (!number.is_nan()).then_some(number as u64)
}
