//! The answer at a gate.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::GateKind;

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
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Fields that do not belong to the decision are an error. `{"decision": "approve", "args": …}` would otherwise run a call with
/// other arguments than intended.
#[doc(alias("Decision", "hitl", "Command"))]
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "lowercase", try_from = "AnswerJson")]
#[non_exhaustive]
pub enum GateAnswer {
    /// The call may run as proposed. For [`GateKind::Approval`].
    #[non_exhaustive]
    Approve {
        /// Why, or by whom, for the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The call may run with other arguments, which are checked completely. For [`GateKind::Approval`].
    #[non_exhaustive]
    Edit {
        /// The arguments to run with.
        args: Value,
        /// Why, or by whom, for the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The call must not run. For [`GateKind::Approval`].
    #[non_exhaustive]
    Deny {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
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
        GateAnswer::Approve { reason: None }
    }

    /// Approves a call with other arguments.
    pub fn edit(args: impl Into<Value>) -> Self {
        let args = args.into();
        GateAnswer::Edit { args, reason: None }
    }

    /// Denies a call. The model reads the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        GateAnswer::Deny { reason }
    }

    /// Answers with a value, at a gate that is not an approval.
    pub fn value(value: impl Into<Value>) -> Self {
        let value = value.into();
        GateAnswer::Value { value }
    }

    /// Refuses to answer, at a gate of any kind. The model reads the reason.
    pub fn reject(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        GateAnswer::Reject { reason }
    }

    /// Sets the reason that is stored with the answer. Has no effect on [`GateAnswer::Value`].
    #[must_use]
    pub fn with_reason(mut self, text: impl Into<String>) -> Self {
        match &mut self {
            GateAnswer::Approve { reason }
            | GateAnswer::Edit { reason, .. }
            | GateAnswer::Deny { reason } => *reason = Some(text.into()),
            GateAnswer::Reject { reason } => *reason = text.into(),
            GateAnswer::Value { .. } => {}
        }
        self
    }

    /// Returns the name of the decision, as in JSON.
    #[must_use]
    pub const fn decision(&self) -> &'static str {
        match self {
            GateAnswer::Approve { .. } => "approve",
            GateAnswer::Edit { .. } => "edit",
            GateAnswer::Deny { .. } => "deny",
            GateAnswer::Value { .. } => "value",
            GateAnswer::Reject { .. } => "reject",
        }
    }

    /// Returns the JSON that is validated with the schema of the gate, or the reason of a rejection. Values are moved, because
    /// edited arguments were not admitted yet, and cloning them is recursive.
    pub(crate) fn into_resolution(self) -> Result<Value, String> {
        let decision = self.decision();
        let (args, reason) = match self {
            GateAnswer::Value { value } => return Ok(value),
            GateAnswer::Reject { reason } => return Err(reason),
            GateAnswer::Edit { args, reason } => (Some(args), reason),
            GateAnswer::Approve { reason } | GateAnswer::Deny { reason } => (None, reason),
        };
        let mut object = Map::new();
        object.insert("decision".to_owned(), decision.into());
        object.extend(args.map(|args| ("args".to_owned(), args)));
        object.extend(reason.map(|reason| ("reason".to_owned(), reason.into())));
        Ok(Value::Object(object))
    }

    /// Returns the answer for a resolution of a gate of this kind. A resolution of an approval without a decision stays a value.
    pub(crate) fn of_resolution(kind: &GateKind, mut resolution: Value) -> Self {
        if *kind != GateKind::Approval {
            return GateAnswer::Value { value: resolution };
        }
        let text = |name: &str| resolution.get(name).and_then(Value::as_str);
        let reason = text("reason").map(str::to_owned);
        match text("decision") {
            Some("approve") => GateAnswer::Approve { reason },
            Some("edit") if resolution.get("args").is_some() => {
                let args = resolution.get_mut("args").map(Value::take);
                let args = args.unwrap_or_default();
                GateAnswer::Edit { args, reason }
            }
            // Earlier releases wrote `refuse`.
            Some("deny" | "refuse") => GateAnswer::Deny { reason },
            _ => GateAnswer::Value { value: resolution },
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
        let AnswerJson {
            decision,
            args,
            value,
            reason,
        } = json;
        match (decision, args, value, reason) {
            (Decision::Approve, None, None, reason) => Ok(GateAnswer::Approve { reason }),
            (Decision::Edit, Some(args), None, reason) => Ok(GateAnswer::Edit { args, reason }),
            (Decision::Deny, None, None, reason) => Ok(GateAnswer::Deny { reason }),
            (Decision::Value, None, Some(value), None) => Ok(GateAnswer::Value { value }),
            (Decision::Reject, None, None, Some(reason)) => Ok(GateAnswer::Reject { reason }),
            (Decision::Approve, Some(_), ..) => Err(
                "`approve` must not have `args`, because it runs the call as proposed: to change the arguments, use the decision `edit`",
            ),
            (Decision::Approve, ..) => Err("`approve` has no field but `reason`"),
            (Decision::Edit, None, ..) => Err("`edit` requires `args`, the arguments to run with"),
            (Decision::Edit, ..) => Err("`edit` has no fields but `args` and `reason`"),
            (Decision::Deny, ..) => Err("`deny` has no field but `reason`"),
            (Decision::Value, _, None, _) => Err("`value` requires `value`, the answer"),
            (Decision::Value, ..) => Err("`value` has no field but `value`"),
            (Decision::Reject, _, _, None) => Err("`reject` requires `reason`"),
            (Decision::Reject, ..) => Err("`reject` has no field but `reason`"),
        }
    }
}

impl From<Value> for GateAnswer {
    fn from(value: Value) -> Self {
        GateAnswer::Value { value }
    }
}

impl fmt::Debug for GateAnswer {
    /// Omits arguments and values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GateAnswer({})", self.decision())
    }
}
