//! Why a call was denied.

use serde::{Deserialize, Serialize};

use super::TaintSource;

/// Why a policy or an approver denied a call: see [`ToolCall::denial`](super::ToolCall::denial).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Denial {
    /// The reason, for operators.
    pub reason: String,
    /// The records that made the prompt untrusted or private, if that was the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<TaintSource>,
}
