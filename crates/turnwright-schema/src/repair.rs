//! Repairs: a record of every change that checking makes.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::pointer;

/// One change that checking made to the arguments.
///
/// Applying the repairs of a check in order to the raw arguments yields the checked arguments:
///
/// ```
/// use turnwright_schema::{RepairKind, Schema};
/// use serde_json::json;
///
/// let schema = Schema::from_document(json!({
///     "type": "object",
///     "properties": { "n": { "type": "integer" }, "unit": { "type": "string", "default": "cm" } },
/// }))?;
/// let raw = json!({ "n": " 7 " });
/// let checked = schema.check(raw.clone())?;
/// assert_eq!(checked.value(), &json!({ "n": 7, "unit": "cm" }));
///
/// let mut value = raw;
/// for repair in checked.repairs() {
///     repair.apply(&mut value);
/// }
/// assert_eq!(&value, checked.value());
/// assert_eq!(checked.repairs()[0].kind, RepairKind::Number);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Repair {
    /// The JSON pointer of the location.
    pub pointer: String,
    /// The kind of change.
    pub kind: RepairKind,
    /// The previous value; `None` if there was none.
    pub before: Option<Value>,
    /// The new value; `None` if the value was removed.
    pub after: Option<Value>,
}

/// The changes that checking can make. There are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RepairKind {
    /// A string with a number, where a number is expected.
    Number,
    /// A string with `true` or `false`, where a boolean is expected.
    Boolean,
    /// A string with the JSON of an object or array, where one is expected.
    Json,
    /// A whole number written with a fraction or exponent, where an integer is expected: `7.0` becomes `7`.
    Integer,
    /// A `null` for a property that is neither required nor nullable.
    NullAsAbsent,
    /// A default filled in for an absent property.
    Default,
    /// Missing arguments, blank text or `null` instead of an arguments object. Treated as `{}` if the model's
    /// response was complete.
    NoArguments,
}

impl RepairKind {
    /// The name in JSON, such as `null_as_absent`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            RepairKind::Number => "number",
            RepairKind::Boolean => "boolean",
            RepairKind::Json => "json",
            RepairKind::Integer => "integer",
            RepairKind::NullAsAbsent => "null_as_absent",
            RepairKind::Default => "default",
            RepairKind::NoArguments => "no_arguments",
        }
    }
}

impl Repair {
    /// Applies this change to `value`.
    pub fn apply(&self, value: &mut Value) {
        pointer::set(value, &self.pointer, self.after.clone());
    }

    /// Reverts this change.
    pub(crate) fn undo(self, value: &mut Value) {
        pointer::set(value, &self.pointer, self.before);
    }
}

// Arguments may contain secrets. Serialise a repair to see them.
debug_fields!(Repair { pointer, kind });
