//! How a prompt was compacted.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

/// How a prompt was compacted: what was replaced, and the estimated tokens before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Compacted {
    /// The number of tool results that became handles.
    pub handles: u64,
    /// The number of records that were replaced by the summary, without those of earlier summaries.
    pub records: u64,
    /// The number of exchanges that were replaced by the summary, without those of earlier summaries.
    pub exchanges: u64,
    /// The id of the summary, a [`Retrievable`](crate::record::Retrievable). `None` if only results became handles.
    pub summary: Option<Arc<str>>,
    /// The model that summarised the records. `None` if they were removed without being summarised.
    pub model: Option<Arc<str>>,
    /// The estimated tokens of the prompt before.
    pub tokens_before: u64,
    /// The estimated tokens of the prompt after.
    pub tokens_after: u64,
}
