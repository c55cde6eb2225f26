//! A line of the ledger.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that may change the world: written before it runs, and again when it ended. One that was begun and never ended is
/// unknown, and is not made again. Immutable.
#[derive(Clone)]
#[non_exhaustive]
pub struct LedgerEntry {
    pub(crate) idempotency_key: String,
    /// The turn.
    pub turn_id: Arc<str>,
    /// Which call.
    pub tool_call: String,
    /// What was asked for.
    pub checksum: String,
    /// Which of its turn's calls it was, counted from 0, where that is known.
    pub ordinal: Option<u64>,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The tool's fingerprint when it ran.
    pub fingerprint: String,
    /// The arguments that it ran with.
    pub args: Value,
    /// How far it is.
    pub state: CallState,
    /// When it was about to run.
    pub begun_at: SystemTime,
    /// When it ended, if it did.
    pub ended_at: Option<SystemTime>,
}

/// How far a call is that may change the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CallState {
    /// It is about to run, or runs. What is left so was cut off by the end of its process.
    Begun,
    /// It did what it was to do.
    Done,
    /// It failed: its handler said so, or was never reached.
    Failed,
    /// It was cut off: it may have had its effect or not.
    Unknown,
}

impl LedgerEntry {
    /// The idempotency key: unique per call and stable across a resume. 64 hex digits, which do not reveal the names of the
    /// conversation and the turn.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.idempotency_key
    }

    /// Whether it was begun and has not ended.
    pub(crate) fn is_begun(&self) -> bool {
        self.state == CallState::Begun
    }

    /// The same call, ended now in this state.
    #[must_use]
    pub fn ended(&self, state: CallState) -> Arc<Self> {
        let mut entry = self.clone();
        entry.state = state;
        // A clock that was set back does not end a call before it began.
        let now = SystemTime::now().max(entry.begun_at);
        entry.ended_at = (state != CallState::Begun).then_some(now);
        Arc::new(entry)
    }
}

names!(CallState {
    Begun = "begun",
    Done = "done",
    Failed = "failed",
    Unknown = "unknown",
});

debug_fields!(LedgerEntry {
    idempotency_key,
    tool,
    state
});
