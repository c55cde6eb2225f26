//! Token usage.

mod finish_reason;
mod model_usage;

#[cfg(test)]
mod tests;

use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use finish_reason::FinishReason;
pub use model_usage::ModelUsage;

/// The token usage of one request or of a whole turn.
///
/// ```
/// use turnwright_core::Usage;
///
/// let mut usage = Usage::tokens(1_000, 50).cache_written(1_000);
/// usage += Usage::tokens(1_100, 20).cached(1_000);
/// assert_eq!(usage.total_tokens(), 2_170);
/// assert_eq!((usage.requests, usage.cached_input_tokens, usage.cache_write_tokens), (2, 1_000, 1_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Number of requests to the model.
    pub requests: u64,
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Input tokens that were served from the provider's prompt cache.
    pub cached_input_tokens: u64,
    /// Input tokens that were written to the provider's prompt cache. Part of `input_tokens`.
    pub cache_write_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Output tokens used for reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Creates the usage of one request.
    #[must_use]
    pub const fn tokens(input: u64, output: u64) -> Self {
        Usage {
            requests: 1,
            input_tokens: input,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            output_tokens: output,
            reasoning_tokens: 0,
        }
    }

    /// Sets the number of cached input tokens.
    #[must_use]
    pub const fn cached(mut self, tokens: u64) -> Self {
        self.cached_input_tokens = tokens;
        self
    }

    /// Sets the number of input tokens that were written to the prompt cache.
    #[must_use]
    pub const fn cache_written(mut self, tokens: u64) -> Self {
        self.cache_write_tokens = tokens;
        self
    }

    /// Sets the number of reasoning tokens.
    #[must_use]
    pub const fn reasoning(mut self, tokens: u64) -> Self {
        self.reasoning_tokens = tokens;
        self
    }

    /// Returns the sum of input and output tokens.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Add for Usage {
    type Output = Usage;

    /// Saturates, because a provider may report arbitrary numbers.
    fn add(self, more: Usage) -> Usage {
        Usage {
            requests: self.requests.saturating_add(more.requests),
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            cached_input_tokens: self
                .cached_input_tokens
                .saturating_add(more.cached_input_tokens),
            cache_write_tokens: self
                .cache_write_tokens
                .saturating_add(more.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(more.reasoning_tokens),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        *self = *self + more;
    }
}
