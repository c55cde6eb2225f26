//! Token counts.

use serde_json::Value;

use crate::decode::{Delta, ReportedUsage, count};

/// The counts so far. Each report is cumulative: a count that it has replaces the earlier one.
#[derive(Default)]
pub(super) struct Counts(ReportedUsage);

impl Counts {
    /// Reads a report.
    pub(super) fn read(&mut self, usage: &Value) -> Option<Delta> {
        let of = |name| count(usage, &[name]);
        let details = usage.get("output_tokens_details");
        let reasoning = details.and_then(|details| count(details, &["thinking_tokens"]));
        let now = ReportedUsage {
            input: of("input_tokens"),
            output: of("output_tokens"),
            cached: of("cache_read_input_tokens"),
            cache_write: of("cache_creation_input_tokens"),
            reasoning,
            ..ReportedUsage::default()
        };
        let known = &mut self.0;
        known.input = now.input.or(known.input);
        known.output = now.output.or(known.output);
        known.cached = now.cached.or(known.cached);
        known.cache_write = now.cache_write.or(known.cache_write);
        known.reasoning = now.reasoning.or(known.reasoning);
        // The server does not count cached tokens as input.
        let (cached, written) = (known.cached.unwrap_or(0), known.cache_write.unwrap_or(0));
        let delta = known.delta(cached.saturating_add(written), 0);
        delta.filter(|_| now != ReportedUsage::default())
    }
}
