//! Token counts, before a protocol writes them in its own arithmetic.

use serde::Deserialize;

/// The token counts of a reply. `input` includes `cached` and `cache_written`, and `output` includes `reasoning`: each
/// protocol writes them in its own arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Usage {
    /// All input tokens.
    pub input: u64,
    /// All output tokens.
    pub output: u64,
    /// The input tokens that were read from the prompt cache.
    pub cached: u64,
    /// The input tokens that were written to the prompt cache.
    pub cache_written: u64,
    /// The output tokens of the reasoning.
    pub reasoning: u64,
}

impl Usage {
    pub(super) fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the input tokens that were neither read from nor written to the cache.
    pub(super) fn uncached(self) -> u64 {
        let cached = self.cached.saturating_add(self.cache_written);
        self.input.saturating_sub(cached)
    }

    /// Returns the output tokens without the reasoning.
    pub(super) fn visible(self) -> u64 {
        self.output.saturating_sub(self.reasoning)
    }
}
