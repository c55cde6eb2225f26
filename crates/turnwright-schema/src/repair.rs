//! What checking changed, so that nothing is changed silently.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::pointer;

/// One change that checking made to the arguments.
///
/// Applied in order to the raw arguments, the repairs of a check give the checked ones:
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
#[derive(Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Repair {
    /// Where, as a JSON pointer.
    pub pointer: String,
    /// What was done.
    pub kind: RepairKind,
    /// What stood there; `None` if nothing did.
    pub before: Option<Value>,
    /// What stands there now; `None` if nothing does.
    pub after: Option<Value>,
}

/// The changes that checking may make. There are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RepairKind {
    /// Text that is a number, where a number belongs.
    Number,
    /// Text that is `true` or `false`, where a boolean belongs.
    Boolean,
    /// JSON text of an object or array, where that belongs.
    Json,
    /// A whole number written with a fraction or exponent, where an integer belongs: `7.0` is `7`.
    Integer,
    /// A `null` for a property that is neither required nor nullable.
    NullAsAbsent,
    /// A default filled in for an absent property.
    Default,
    /// Nothing, blank text or `null` in the place of all arguments, where the model's whole response says so: `{}` is meant.
    NoArguments,
}

impl RepairKind {
    /// Every kind.
    pub const ALL: &[RepairKind] = &[
        RepairKind::Number,
        RepairKind::Boolean,
        RepairKind::Json,
        RepairKind::Integer,
        RepairKind::NullAsAbsent,
        RepairKind::Default,
        RepairKind::NoArguments,
    ];

    /// The kind as it stands in records.
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
    /// Makes this change to `value`.
    pub fn apply(&self, value: &mut Value) {
        pointer::set(value, &self.pointer, self.after.clone());
    }

    /// Takes this change back.
    pub(crate) fn undo(self, value: &mut Value) {
        pointer::set(value, &self.pointer, self.before);
    }
}

impl fmt::Debug for Repair {
    /// Arguments may hold secrets: serialise a repair on purpose to see what was changed into what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair")
            .field("pointer", &self.pointer)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
