//! How much of a model was used.

mod finish_reason;
mod model_usage;

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

pub use finish_reason::FinishReason;
pub use model_usage::ModelUsage;

/// How much of a model was used: of one request, or of all of a turn.
///
/// ```
/// use turnwright_core::Usage;
///
/// let mut usage = Usage::tokens(1_000, 50);
/// usage += Usage::tokens(1_100, 20).cached(1_000);
/// assert_eq!(usage.total_tokens(), 2_170);
/// assert_eq!((usage.requests, usage.cached_input_tokens), (2, 1_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Requests to the model.
    pub requests: u64,
    /// Tokens that it read, cached ones included.
    pub input_tokens: u64,
    /// Those of them that the provider had kept from an earlier request.
    pub cached_input_tokens: u64,
    /// Tokens that it wrote, its thoughts included.
    pub output_tokens: u64,
    /// Those of them that were thoughts.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// One request that read and wrote so many tokens.
    #[must_use]
    pub const fn tokens(input: u64, output: u64) -> Self {
        Usage {
            requests: 1,
            input_tokens: input,
            cached_input_tokens: 0,
            output_tokens: output,
            reasoning_tokens: 0,
        }
    }

    /// So many of the tokens that it read were kept from before.
    #[must_use]
    pub const fn cached(mut self, tokens: u64) -> Self {
        self.cached_input_tokens = tokens;
        self
    }

    /// So many of the tokens that it wrote were thoughts.
    #[must_use]
    pub const fn reasoning(mut self, tokens: u64) -> Self {
        self.reasoning_tokens = tokens;
        self
    }

    /// Tokens read and written.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Add for Usage {
    type Output = Usage;

    /// Saturates: what a provider says is not to be trusted with an overflow.
    fn add(self, more: Usage) -> Usage {
        Usage {
            requests: self.requests.saturating_add(more.requests),
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            cached_input_tokens: self
                .cached_input_tokens
                .saturating_add(more.cached_input_tokens),
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
