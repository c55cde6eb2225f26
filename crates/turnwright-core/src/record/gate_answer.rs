//! The answer at a gate.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::principal::Principal;

/// An answer at a gate: live through [`Gates::answer`](crate::gate::Gates::answer), or recorded for a suspended turn.
///
/// As JSON it is an object with the field `decision`, so that a service can read it from a request:
///
/// ```
/// use serde_json::json;
/// use turnwright_core::gate::GateAnswer;
///
/// let read = |json| serde_json::from_value::<GateAnswer>(json);
/// assert_eq!(read(json!({ "decision": "approve" }))?, GateAnswer::approve());
/// assert_eq!(read(json!({ "decision": "deny", "reason": "too expensive" }))?, GateAnswer::deny("too expensive"));
/// assert_eq!(read(json!({ "decision": "edit", "args": { "n": 1 } }))?, GateAnswer::edit(json!({ "n": 1 })));
/// assert_eq!(read(json!({ "decision": "value", "value": "Elm Street" }))?, GateAnswer::value("Elm Street"));
/// assert_eq!(read(json!({ "decision": "reject", "reason": "no" }))?, GateAnswer::reject("no"));
///
/// // Who answered, and a note. Both are stored and shown; the model reads neither.
/// let json = json!({ "decision": "approve", "by": "ada", "note": "as agreed" });
/// assert_eq!(read(json)?, GateAnswer::approve().by("ada").note("as agreed"));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Fields that do not belong to the decision are an error. `{"decision": "approve", "args": …}` would otherwise run a call with
/// other arguments than intended.
///
/// Turnwright does not know who sent an answer. A service that reads one from a request sets [`by`](GateAnswer::by) to the user
/// who is logged in, whatever the request says.
#[doc(alias("Decision", "hitl", "Command"))]
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "AnswerJson")]
#[schemars(!try_from)]
#[non_exhaustive]
pub struct GateAnswer {
    /// What was decided.
    #[serde(flatten)]
    pub decision: GateDecision,
    /// Who answered, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
    /// A note for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What was decided at a gate. Create a [`GateAnswer`] with it, such as [`GateAnswer::approve`].
#[derive(Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "lowercase")]
#[non_exhaustive]
pub enum GateDecision {
    /// The call may run as proposed. For [`GateKind::Approval`](super::GateKind::Approval).
    Approve,
    /// The call may run with other arguments, which are checked completely. For [`GateKind::Approval`](super::GateKind::Approval).
    #[non_exhaustive]
    Edit {
        /// The arguments to run with.
        args: Value,
    },
    /// The call must not run. For [`GateKind::Approval`](super::GateKind::Approval).
    #[non_exhaustive]
    Deny {
        /// Why, for the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The value for a gate of another kind. It is validated with the schema of the gate.
    #[non_exhaustive]
    Value {
        /// The value.
        value: Value,
    },
    /// Refuses to answer. The waiting code fails with `E_TURN_GATE_REJECTED`; a call that waits for approval is denied.
    #[non_exhaustive]
    Reject {
        /// Why, for the model.
        reason: String,
    },
}

impl GateAnswer {
    /// Approves a call as proposed.
    #[must_use]
    pub fn approve() -> Self {
        GateAnswer::of(GateDecision::Approve)
    }

    /// Approves a call with other arguments.
    pub fn edit(args: impl Into<Value>) -> Self {
        let args = args.into();
        GateAnswer::of(GateDecision::Edit { args })
    }

    /// Denies a call. The model reads the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        GateAnswer::of(GateDecision::Deny { reason })
    }

    /// Answers with a value, at a gate that is not an approval.
    pub fn value(value: impl Into<Value>) -> Self {
        let value = value.into();
        GateAnswer::of(GateDecision::Value { value })
    }

    /// Refuses to answer, at a gate of any kind. The model reads the reason.
    pub fn reject(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        GateAnswer::of(GateDecision::Reject { reason })
    }

    fn of(decision: GateDecision) -> Self {
        GateAnswer {
            decision,
            by: None,
            note: None,
        }
    }

    /// Sets who answered. It is stored with the answer, and a policy can demand that it is
    /// [not the principal who asked](crate::tool::approval::Review::by_another).
    #[must_use]
    pub fn by(mut self, principal: impl Into<Principal>) -> Self {
        self.by = Some(principal.into());
        self
    }

    /// Sets a note that is stored with the answer. The model does not read it.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }
}

impl GateDecision {
    /// Returns the name of the decision, as in JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            GateDecision::Approve => "approve",
            GateDecision::Edit { .. } => "edit",
            GateDecision::Deny { .. } => "deny",
            GateDecision::Value { .. } => "value",
            GateDecision::Reject { .. } => "reject",
        }
    }
}

/// The JSON of an answer.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"decision\": \"approve\"}"
)]
struct AnswerJson {
    decision: Decision,
    #[serde(default, deserialize_with = "present")]
    args: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    by: Option<Principal>,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Approve,
    Edit,
    Deny,
    Value,
    Reject,
}

/// Reads a field that may be `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl TryFrom<AnswerJson> for GateAnswer {
    type Error = &'static str;

    fn try_from(json: AnswerJson) -> Result<Self, Self::Error> {
        let AnswerJson { by, note, .. } = &json;
        let (by, note) = (by.clone(), note.clone());
        let decision = match (json.decision, json.args, json.value, json.reason) {
            (Decision::Approve, None, None, None) => GateDecision::Approve,
            (Decision::Edit, Some(args), None, None) => GateDecision::Edit { args },
            (Decision::Deny, None, None, reason) => GateDecision::Deny { reason },
            (Decision::Value, None, Some(value), None) => GateDecision::Value { value },
            (Decision::Reject, None, None, Some(reason)) => GateDecision::Reject { reason },
            (Decision::Approve, Some(_), ..) => {
                return Err(
                    "`approve` must not have `args`, because it runs the call as proposed: to change the arguments, use the decision `edit`",
                );
            }
            (Decision::Approve | Decision::Edit, _, None, Some(_)) => {
                return Err(
                    "`approve` and `edit` have no `reason`, which the model reads: use `note`",
                );
            }
            (Decision::Approve, ..) => return Err("`approve` has no fields but `by` and `note`"),
            (Decision::Edit, None, ..) => {
                return Err("`edit` requires `args`, the arguments to run with");
            }
            (Decision::Edit, ..) => {
                return Err("`edit` has no fields but `args`, `by` and `note`");
            }
            (Decision::Deny, ..) => {
                return Err("`deny` has no fields but `reason`, `by` and `note`");
            }
            (Decision::Value, _, None, _) => return Err("`value` requires `value`, the answer"),
            (Decision::Value, ..) => {
                return Err("`value` has no fields but `value`, `by` and `note`");
            }
            (Decision::Reject, _, _, None) => return Err("`reject` requires `reason`"),
            (Decision::Reject, ..) => {
                return Err("`reject` has no fields but `reason`, `by` and `note`");
            }
        };
        Ok(GateAnswer { decision, by, note })
    }
}

impl From<Value> for GateAnswer {
    fn from(value: Value) -> Self {
        GateAnswer::value(value)
    }
}

impl fmt::Debug for GateAnswer {
    /// Omits arguments and values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GateAnswer({})", self.decision.as_str())
    }
}

impl fmt::Debug for GateDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
