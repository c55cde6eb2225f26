//! Token counts as a server reports them.

use serde::Serialize;
use serde_json::Value;
use turnwright_core::Usage;

use super::delta::Delta;

/// The token counts that a server reports, before they are normalised into [`Usage`](turnwright_core::Usage). What
/// the counts include differs between protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReportedUsage {
    /// Input tokens.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Input tokens that were read from the prompt cache.
    pub cached: Option<u64>,
    /// Input tokens that were written to the prompt cache.
    pub cache_write: Option<u64>,
    /// Output tokens used for reasoning.
    pub reasoning: Option<u64>,
    /// Input tokens of tools that run at the provider.
    pub tool_input: Option<u64>,
    /// The sum, if the server reports one.
    pub total: Option<u64>,
}

impl ReportedUsage {
    /// Returns the delta for these counts, or `None` if there are none. `input` and `output`: what else counts as such in
    /// [`Usage`], besides the counts of the same name.
    pub(crate) fn delta(self, input: u64, output: u64) -> Option<Delta> {
        let of = |count: Option<u64>, more: u64| count.unwrap_or(0).saturating_add(more);
        let usage = Usage::tokens(of(self.input, input), of(self.output, output))
            .cached(of(self.cached, 0))
            .cache_written(of(self.cache_write, 0))
            .reasoning(of(self.reasoning, 0));
        (self != ReportedUsage::default()).then_some(Delta::Usage {
            usage,
            reported: self,
        })
    }
}

/// Returns the first of these fields that is a number. Usage is optional: a count that cannot be parsed counts as
/// absent.
pub(crate) fn count(usage: &Value, names: &[&str]) -> Option<u64> {
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
