//! The decision of an approver.

use std::fmt;

use serde_json::Value;

use crate::record::GateAnswer;

/// What an [`Approver`](crate::tool::approval::Approver) decides.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::tool::approval::{Approval, ApprovalRequest};
///
/// async fn decide(request: ApprovalRequest) -> Approval {
///     match request.args["cents"].as_u64() {
///         Some(..=1_000) => Approval::Granted,
///         Some(1_001..=5_000) => Approval::edited(json!({ "cents": 1_000 })),
///         _ => Approval::denied("The limit is 50 euros."),
///     }
/// }
/// # let _ = turnwright_core::DispatchContext::builder().approver(decide);
/// ```
#[doc(alias("Decision", "hitl"))]
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Approval {
    /// The call may run with these arguments.
    #[doc(alias("Approve", "Approved", "Allow"))]
    Granted,
    /// The call may run with other arguments, which are checked completely first.
    Edited(Value),
    /// The call must not run.
    Denied {
        /// The reason, for the model.
        reason: String,
    },
    /// An answer that names [who decided](GateAnswer::by), or has a note: `GateAnswer::approve().by("ada").into()`.
    Answered(GateAnswer),
}

impl Approval {
    /// Approves the call with other arguments.
    pub fn edited(args: impl Into<Value>) -> Self {
        Approval::Edited(args.into())
    }

    /// Denies the call. The model reads the reason.
    pub fn denied(reason: impl Into<String>) -> Self {
        Approval::Denied {
            reason: reason.into(),
        }
    }
}

impl From<Approval> for GateAnswer {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::Granted => GateAnswer::approve(),
            Approval::Edited(args) => GateAnswer::edit(args),
            Approval::Denied { reason } => GateAnswer::deny(reason),
            Approval::Answered(answer) => answer,
        }
    }
}

impl From<GateAnswer> for Approval {
    fn from(answer: GateAnswer) -> Self {
        Approval::Answered(answer)
    }
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Approval::Granted => f.write_str("Granted"),
            Approval::Edited(_) => f.write_str("Edited(..)"),
            Approval::Denied { reason } => {
                f.debug_struct("Denied").field("reason", reason).finish()
            }
            Approval::Answered(answer) => answer.fmt(f),
        }
    }
}
