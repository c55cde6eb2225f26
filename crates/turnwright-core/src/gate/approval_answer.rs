//! The answer to a request for approval.

use std::fmt;

use serde_json::{Map, Value, json};

/// An answer.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Approval {
    /// Yes, with these arguments.
    Granted,
    /// Yes, with other arguments, which are checked in full first.
    Edited(Value),
    /// No.
    Denied {
        /// Why, for the model.
        reason: String,
    },
}

impl Approval {
    /// Yes, with other arguments.
    pub fn edited(args: impl Into<Value>) -> Self {
        Approval::Edited(args.into())
    }

    /// Denies the call. The model reads the reason.
    pub fn denied(reason: impl Into<String>) -> Self {
        Approval::Denied {
            reason: reason.into(),
        }
    }

    /// As an answer at the gate.
    pub(crate) fn into_answer(self) -> Value {
        match self {
            Approval::Granted => json!({ "decision": "approve" }),
            // Moved, since `json!` copies by recursion, and nothing has looked at these arguments yet.
            Approval::Edited(args) => Value::Object(Map::from_iter([
                ("decision".to_owned(), "edit".into()),
                ("args".to_owned(), args),
            ])),
            Approval::Denied { reason } => json!({ "decision": "deny", "reason": reason }),
        }
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
        }
    }
}
