//! How a gate was closed.

use crate::principal::Principal;
use crate::record::{GateAnswer, GateDecision};

/// How a gate was closed, and who answered. The fields are those of the event.
#[derive(Clone)]
pub(crate) struct GateClosed {
    pub(crate) how: &'static str,
    pub(crate) by: Option<Principal>,
    pub(crate) note: Option<String>,
}

impl GateClosed {
    pub(crate) fn of(answer: &GateAnswer) -> Self {
        GateClosed {
            how: match answer.decision {
                GateDecision::Reject { .. } => "rejected",
                _ => "resolved",
            },
            by: answer.by.clone(),
            note: answer.note.clone(),
        }
    }

    pub(crate) fn aborted() -> Self {
        GateClosed::unanswered("aborted")
    }

    pub(crate) fn timed_out() -> Self {
        GateClosed::unanswered("timedOut")
    }

    fn unanswered(how: &'static str) -> Self {
        GateClosed {
            how,
            by: None,
            note: None,
        }
    }
}
