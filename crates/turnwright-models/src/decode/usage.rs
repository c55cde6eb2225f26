//! Token counts as a server reports them.

use serde_json::Value;

/// The token counts that a server reports, before they are normalised into [`Usage`](turnwright_core::Usage). What
/// the counts include differs between protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
