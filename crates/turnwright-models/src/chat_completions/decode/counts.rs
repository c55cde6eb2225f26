//! How many tokens a response cost, in the many ways that servers say so.

use serde_json::value::RawValue;
use turnwright_core::event::Usage;

use super::chunk::Chunk;
use super::shape::{Count, object};

object! {
    /// All the names of them. Its details have some of the same.
    Counts {
        "prompt_tokens" => prompt_tokens: Count,
        "completion_tokens" => completion_tokens: Count,
        "input_tokens" => input_tokens: Count,
        "output_tokens" => output_tokens: Count,
        "reasoning_tokens" => reasoning_tokens: Count,
        "cached_tokens" => cached_tokens: Count,
        "prompt_cache_hit_tokens" => prompt_cache_hit_tokens: Count,
        "cache_read_input_tokens" => cache_read_input_tokens: Count,
        "prompt_tokens_details" => prompt_tokens_details: Option<&'a RawValue>,
        "completion_tokens_details" => completion_tokens_details: Option<&'a RawValue>,
    }
}

/// The usage that a chunk tells, and whether it tells how much of the input was cached.
pub(super) fn told(chunk: &Chunk<'_>) -> Option<(Usage, bool)> {
    let of_groq = || {
        let groq: Chunk<'_> = read(chunk.x_groq)?;
        counts(groq.usage)
    };
    counts(chunk.usage).or_else(of_groq)
}

fn counts(written: Option<&RawValue>) -> Option<(Usage, bool)> {
    let counts: Counts<'_> = read(written)?;
    let input = counts.prompt_tokens.0.or(counts.input_tokens.0);
    let output = counts.completion_tokens.0.or(counts.output_tokens.0);
    if input.is_none() && output.is_none() {
        return None;
    }
    let of_input: Counts<'_> = read(counts.prompt_tokens_details).unwrap_or_default();
    let of_output: Counts<'_> = read(counts.completion_tokens_details).unwrap_or_default();
    let cached = of_input
        .cached_tokens
        .0
        .or(counts.prompt_cache_hit_tokens.0)
        .or(counts.cache_read_input_tokens.0)
        .or(counts.cached_tokens.0);
    let thoughts = of_output.reasoning_tokens.0.or(counts.reasoning_tokens.0);
    let usage = Usage::tokens(input.unwrap_or(0), output.unwrap_or(0))
        .cached(cached.unwrap_or(0))
        .reasoning(thoughts.unwrap_or(0));
    Some((usage, cached.is_some()))
}

/// Counts are good to have: where they cannot be read there are none.
fn read<'a, T: serde::Deserialize<'a>>(written: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(written?.get()).ok()
}
