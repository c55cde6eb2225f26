//! Ledger entries.
//!
//! They are records, written in the batch that opens a call and in the batch that settles it, so the two cannot
//! disagree.

use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builder::Body;
use super::stored::{part, stored};
use crate::error::ErrorCode;
use crate::validate::Violations;

stored! {
    StoredEntry as "LedgerEntry";
    /// A call that may write. The entry is written before the call runs, and again when it has ended. A call that started and never
    /// ended is unknown and is not repeated. Immutable.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct LedgerEntry {
        #[serde(rename = "id")]
        pub(crate) idempotency_key: String,
        /// The turn id.
        pub turn_id: Arc<str>,
        /// The call id.
        pub tool_call: String,
        /// The checksum of the call.
        pub checksum: String,
        /// The ordinal of the call in its turn, starting at 0, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ordinal: Option<u64>,
        /// The name of the tool.
        pub tool: Arc<str>,
        /// The fingerprint of the tool when it ran.
        pub fingerprint: String,
        /// The arguments that it ran with.
        #[serde(with = "part")]
        pub args: Value,
        /// The state of the call.
        pub state: CallState,
        /// When the call was about to start.
        #[serde(with = "part")]
        pub started_at: SystemTime,
        /// When the call ended, if it did.
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        pub ended_at: Option<SystemTime>,
    }
}

names! {
    /// The state of a call that may write.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[non_exhaustive]
    pub enum CallState {
        /// The call is about to run, or is running. If its process has ended, the call was interrupted.
        Started = "started",
        /// The call succeeded.
        Done = "done",
        /// The call failed: its handler returned an error, or was not started.
        Failed = "failed",
        /// The call was interrupted. It is unknown whether it took effect.
        Unknown = "unknown",
    }
}

impl LedgerEntry {
    /// Returns the idempotency key: unique per call and stable across a resume. 64 hex digits, which do not reveal the ids of the
    /// conversation and the turn.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.idempotency_key
    }

    /// Returns whether the call has started and not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.state == CallState::Started
    }

    /// Returns the entry, ended now in this state.
    #[must_use]
    pub fn ended(&self, state: CallState) -> Arc<Self> {
        let mut entry = self.clone();
        entry.state = state;
        // If the clock was set back, the end must not precede the start.
        let now = SystemTime::now().max(entry.started_at);
        entry.ended_at = (state != CallState::Started).then_some(now);
        Arc::new(entry)
    }
}

debug_fields!(LedgerEntry {
    idempotency_key,
    tool,
    state
});

impl Body for LedgerEntry {
    const NAME: &'static str = "ledger entry";
    const INVALID: ErrorCode = ErrorCode::STORE_ERROR;

    fn check(&mut self, wrong: &mut Violations) {
        wrong.check("id", !self.idempotency_key.is_empty(), "must not be empty");
        wrong.check("toolCall", !self.tool_call.is_empty(), "must not be empty");
        wrong.check("checksum", !self.checksum.is_empty(), "must not be empty");
        wrong.check("tool", !self.tool.is_empty(), "must not be empty");
        let why = if self.is_open() {
            "is set for a call that has not ended"
        } else {
            "is missing for a call that has ended"
        };
        wrong.check("endedAt", self.ended_at.is_none() == self.is_open(), why);
        self.ended_at = self.ended_at.map(|at| at.max(self.started_at));
    }
}
