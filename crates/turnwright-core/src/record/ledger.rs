//! A line of the ledger.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that may change the world: written before it runs, and again when it ended. One that was begun and never ended is
/// unknown, and is not made again. Immutable.
#[derive(Clone)]
pub struct LedgerEntry {
    pub(crate) idempotency_key: String,
    pub(crate) turn_id: Arc<str>,
    pub(crate) tool_call: String,
    pub(crate) checksum: String,
    pub(crate) ordinal: Option<u64>,
    pub(crate) tool: Arc<str>,
    pub(crate) fingerprint: String,
    pub(crate) args: Value,
    pub(crate) state: CallState,
    pub(crate) begun_at: SystemTime,
    pub(crate) ended_at: Option<SystemTime>,
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

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.turn_id
    }

    /// Which call.
    #[must_use]
    pub fn tool_call(&self) -> &str {
        &self.tool_call
    }

    /// What was asked for.
    #[must_use]
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The tool's fingerprint when it ran.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The arguments that it ran with.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// How far it is.
    #[must_use]
    pub fn state(&self) -> CallState {
        self.state
    }

    /// When it was about to run.
    #[must_use]
    pub fn begun_at(&self) -> SystemTime {
        self.begun_at
    }

    /// When it ended, if it did.
    #[must_use]
    pub fn ended_at(&self) -> Option<SystemTime> {
        self.ended_at
    }

    /// Whether it was begun and has not ended.
    pub(crate) fn is_begun(&self) -> bool {
        self.state == CallState::Begun
    }

    /// Which of its turn's calls it was, counted from 0, where that is known.
    #[must_use]
    pub fn ordinal(&self) -> Option<u64> {
        self.ordinal
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

impl CallState {
    /// Every state.
    pub const ALL: &[CallState] = &[
        CallState::Begun,
        CallState::Done,
        CallState::Failed,
        CallState::Unknown,
    ];

    /// The state of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let named = |state: &CallState| state.as_str() == name;
        CallState::ALL.iter().copied().find(named)
    }

    /// The name under which it is kept.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            CallState::Begun => "begun",
            CallState::Done => "done",
            CallState::Failed => "failed",
            CallState::Unknown => "unknown",
        }
    }
}

impl fmt::Debug for LedgerEntry {
    /// Arguments may hold secrets: they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerEntry")
            .field("effect_key", &self.idempotency_key)
            .field("tool", &self.tool)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
