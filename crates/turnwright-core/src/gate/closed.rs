//! How a gate was closed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::principal::Principal;
use crate::record::{GateAnswer, GateDecision};

/// How a gate was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
#[non_exhaustive]
pub enum GateEnd {
    /// It was answered.
    Resolved,
    /// The answer was no.
    Rejected,
    /// No answer came within its timeout.
    TimedOut,
    /// The turn ended first, or no one could answer.
    Aborted,
}

names!(GateEnd {
    Resolved = "resolved",
    Rejected = "rejected",
    TimedOut = "timedOut",
    Aborted = "aborted",
});

/// How a gate was closed, and who answered. The fields are those of the event.
#[derive(Clone)]
pub(crate) struct GateClosed {
    pub(crate) how: GateEnd,
    pub(crate) by: Option<Principal>,
    pub(crate) note: Option<String>,
}

impl GateClosed {
    pub(crate) fn of(answer: &GateAnswer) -> Self {
        GateClosed {
            how: match answer.decision {
                GateDecision::Reject { .. } => GateEnd::Rejected,
                _ => GateEnd::Resolved,
            },
            by: answer.by.clone(),
            note: answer.note.clone(),
        }
    }

    pub(crate) fn aborted() -> Self {
        GateClosed::unanswered(GateEnd::Aborted)
    }

    pub(crate) fn timed_out() -> Self {
        GateClosed::unanswered(GateEnd::TimedOut)
    }

    fn unanswered(how: GateEnd) -> Self {
        GateClosed {
            how,
            by: None,
            note: None,
        }
    }
}
