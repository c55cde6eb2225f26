//! What an audit says of a call.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::effects::Effects;

/// A call that came to its end, as an [`audit`](super::audit) tells of it. Serialises as one flat object.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditedCall {
    /// The conversation.
    pub conversation: Arc<str>,
    /// The turn.
    pub turn_id: Arc<str>,
    /// Which call.
    pub id: Arc<str>,
    /// What was asked for: equal for equal calls.
    pub checksum: String,
    /// The tool's name, as it was proposed.
    pub tool: Arc<str>,
    /// The fingerprint of the tool that ran.
    pub fingerprint: Option<Arc<str>>,
    /// What the tool that ran may do to the world.
    pub effects: Option<Effects>,
    /// The arguments that it ran with, or those that were proposed where nothing ran. Only on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// Whether a policy or a person put other arguments in the place of those that were proposed.
    pub edited: bool,
    /// Whether its handler was reached.
    pub ran: bool,
    /// Whether it was refused or failed.
    pub is_error: bool,
    /// Why, as a stable code.
    pub code: Option<&'static str>,
    /// How long its handler took.
    #[serde(rename = "durationMs", serialize_with = "as_millis")]
    pub duration: Option<Duration>,
    /// Its thread was left behind and may still be at work.
    pub abandoned: bool,
    /// The gate at which somebody was asked whether it may run. If it ran, they approved: whoever answers at gates knows who.
    pub gate: Option<Arc<str>>,
    /// Whether what came of it is on record.
    pub recorded: bool,
    /// When it was settled, or when the turn ended where it could not be.
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

// Arguments may hold secrets: they are not shown.
debug_fields!(AuditedCall {
    id,
    tool,
    ran,
    is_error
});
