//! Audit entries.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::effects::Effects;

/// A completed call, as reported by [`audit`](super::audit). Serialises as a flat object.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditedCall {
    /// The conversation id.
    pub conversation: Arc<str>,
    /// The turn id.
    pub turn_id: Arc<str>,
    /// The call id.
    pub id: Arc<str>,
    /// The checksum of the call. Equal calls have equal checksums.
    pub checksum: String,
    /// The tool name as proposed by the model.
    pub tool: Arc<str>,
    /// The fingerprint of the tool that ran.
    pub fingerprint: Option<Arc<str>>,
    /// The declared effects of the tool that ran.
    pub effects: Option<Effects>,
    /// The arguments that the call ran with, or the proposed arguments if nothing ran. `None` unless enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// Whether a policy or an approver changed the arguments.
    pub edited: bool,
    /// Whether the handler was started.
    pub ran: bool,
    /// Whether the call was refused or failed.
    pub is_error: bool,
    /// The error code, if the call was refused or failed.
    pub code: Option<&'static str>,
    /// How long the handler ran.
    #[serde(rename = "durationMs", serialize_with = "as_millis")]
    pub duration: Option<Duration>,
    /// Whether the thread of the handler was detached and may still be running.
    pub abandoned: bool,
    /// The gate at which approval was requested. If the call ran, it was approved there.
    pub gate: Option<Arc<str>>,
    /// Whether the result was recorded.
    pub recorded: bool,
    /// When the call was settled, or when the turn ended if it could not be settled.
    #[serde(rename = "endedAtMs", serialize_with = "since_epoch")]
    pub ended_at: SystemTime,
}

fn as_millis<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serializer.serialize_f64(duration.as_secs_f64() * 1000.0),
        None => serializer.serialize_none(),
    }
}

fn since_epoch<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

// Omits the arguments, which may contain secrets.
debug_fields!(AuditedCall {
    id,
    tool,
    ran,
    is_error
});
