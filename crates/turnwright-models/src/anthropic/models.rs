//! What is known about models, by their names.

use crate::engine::known;

/// Context windows, by prefix of the name.
pub(super) const WINDOWS: &[(&str, u64)] = &[
    ("claude-3", 200_000),
    ("claude-opus-4", 200_000),
    ("claude-haiku-4", 200_000),
    // Sonnet 4 and 4.5 have this window with a beta header only; the server reports the limit of other requests.
    ("claude-sonnet-4", 1_000_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-fable-5", 1_000_000),
    ("claude-mythos-5", 1_000_000),
];

/// The default for `max_tokens`, which the API requires, by prefix of the name. Newer models can write more, but
/// older ones reject a request if the prompt and `max_tokens` together exceed the window.
const MAX_TOKENS: &[(&str, u64)] = &[
    ("claude-3", 4_096),
    ("claude-3-5", 8_192),
    ("claude-3-7", 32_000),
    ("claude", 32_000),
];

/// The default for `max_tokens` for models of other providers.
const OTHER_MAX_TOKENS: u64 = 8_192;

/// Models with a token budget for thinking. Newer ones have adaptive thinking.
const BUDGET: &[&str] = &[
    "claude-2",
    "claude-3",
    "claude-instant",
    "claude-opus-4-0",
    "claude-opus-4-1",
    // Dates, such as 20250514.
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2",
    "claude-sonnet-4-5",
    "claude-haiku-4",
];

/// Models that think unless thinking is disabled.
const THINKS_BY_DEFAULT: &[&str] = &["claude-opus-5", "claude-sonnet-5", "claude-haiku-5"];

/// Models whose thinking cannot be disabled.
const ALWAYS_THINKS: &[&str] = &["claude-opus-5-5", "claude-sonnet-5-5"];

/// Models without the effort `xhigh`, between `high` and `max`.
const WITHOUT_XHIGH: &[&str] = &["claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-4-6"];

/// A model, by its name without the prefix of a gateway.
#[derive(Clone, Copy)]
pub(super) struct Known<'a>(&'a str);

impl<'a> Known<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        let start = name.find("claude-").unwrap_or(0);
        Known(name.get(start..).unwrap_or(name))
    }

    fn is_one_of(self, prefixes: &[&str]) -> bool {
        prefixes.iter().any(|prefix| self.0.starts_with(prefix))
    }

    fn is_claude(self) -> bool {
        self.0.starts_with("claude")
    }

    pub(super) fn max_tokens(self) -> u64 {
        known(MAX_TOKENS, self.0).unwrap_or(OTHER_MAX_TOKENS)
    }

    pub(super) fn has_adaptive_thinking(self) -> bool {
        let undated = ["claude-opus-4", "claude-sonnet-4"];
        self.is_claude() && !self.is_one_of(BUDGET) && !undated.contains(&self.0)
    }

    pub(super) fn has_effort(self) -> bool {
        self.has_adaptive_thinking() || self.0.starts_with("claude-opus-4-5")
    }

    pub(super) fn has_xhigh(self) -> bool {
        !self.is_one_of(WITHOUT_XHIGH)
    }

    /// Returns `true` if a request must disable thinking explicitly, and can.
    pub(super) fn must_disable_thinking(self) -> bool {
        self.is_one_of(THINKS_BY_DEFAULT) && !self.is_one_of(ALWAYS_THINKS)
    }
}
