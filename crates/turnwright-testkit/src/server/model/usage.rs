//! Token counts, before a protocol writes them in its own arithmetic.

use serde::{Deserialize, Serialize};

/// The token counts of a reply. `input` includes `cached` and `cache_written`, and `output` includes `reasoning`: each
/// protocol writes them in its own arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Usage {
    /// All input tokens.
    pub input: u64,
    /// All output tokens.
    pub output: u64,
    /// The input tokens that were read from the prompt cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// The input tokens that were written to the prompt cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_written: u64,
    /// The output tokens of the reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
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
