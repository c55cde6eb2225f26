//! The records that made a prompt untrusted or private, and why a call was denied.
//!
//! A denial is part of the call's record; a request for approval is a gate. There is no third kind of decision.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RecordKind;
use super::stored::is_default;
use crate::trust::TrustTier;

/// A record because of which a prompt contains text of third parties or private data: see
/// [`Taint::sources`](crate::render::Taint::sources).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaintSource {
    /// The kind of the record.
    pub kind: RecordKind,
    /// The id of the record.
    pub id: Arc<str>,
    /// The name of the tool, for a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// Its least trusted tier, if it contains text of third parties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust_tier: Option<TrustTier>,
    /// Whether it contains private data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub private: bool,
    /// Whether it only repeats other records: the model wrote it after it had read them (see [`Exposure`](super::Exposure)).
    #[serde(default, skip_serializing_if = "is_default")]
    pub derived: bool,
    /// Whether it is a record of an outer turn: see [`TurnInput::under_call`](crate::TurnInput::under_call).
    #[serde(default, skip_serializing_if = "is_default")]
    pub outer: bool,
}

impl TaintSource {
    pub(crate) fn new(kind: RecordKind, id: &str) -> Self {
        TaintSource {
            kind,
            id: id.into(),
            tool: None,
            trust_tier: None,
            private: false,
            derived: false,
            outer: false,
        }
    }
}

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
