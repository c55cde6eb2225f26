//! What each kind of repair may do, judged from the repair and the document alone.

use serde_json::Value;
use turnwright_schema::{Repair, RepairKind};

use super::{numbers, plain, walk};

/// Returns `true` if the repair does exactly what its kind says, at a location where the document permits it.
pub(super) fn is_narrow(document: &Value, repair: &Repair) -> bool {
    let text = repair.before.as_ref().and_then(Value::as_str);
    let does = match (repair.kind, text, &repair.after) {
        (RepairKind::Number, Some(text), Some(Value::Number(after))) => {
            text.trim().parse::<f64>().ok() == after.as_f64()
        }
        (RepairKind::Boolean, Some(text), Some(Value::Bool(after))) => {
            text.trim().to_lowercase() == after.to_string()
        }
        (RepairKind::Json, Some(text), Some(after @ (Value::Object(_) | Value::Array(_)))) => {
            serde_json::from_str::<Value>(text).is_ok_and(|read| read == *after)
        }
        (RepairKind::Integer, None, Some(after @ Value::Number(_))) => {
            let before = repair.before.as_ref();
            after.as_f64().is_some_and(|after| after.fract() == 0.0)
                && before.is_some_and(|before| before != after && numbers::same(before, after))
        }
        (RepairKind::NullAsAbsent, None, None) => repair.before == Some(Value::Null),
        (RepairKind::Default, None, Some(after)) => {
            repair.before.is_none() && is_a_default(document, after)
        }
        _ => false,
    };
    does && is_allowed(document, repair)
}

fn is_a_default(document: &Value, value: &Value) -> bool {
    let mut found = false;
    walk::subschemas(document, &mut |_, schema| {
        found |= schema.get("default") == Some(value);
    });
    found
}

/// Where the document declares one type, the repair must produce that type, and required properties must not be
/// dropped.
fn is_allowed(document: &Value, repair: &Repair) -> bool {
    let Some(kind) = plain::kind_at(document, &repair.pointer) else {
        return true;
    };
    match repair.kind {
        RepairKind::Number => matches!(kind, "number" | "integer"),
        RepairKind::Boolean => kind == "boolean",
        RepairKind::Json => matches!(kind, "object" | "array"),
        RepairKind::Integer => kind == "integer",
        RepairKind::NullAsAbsent => {
            kind != "null" && !plain::is_required(document, &repair.pointer)
        }
        _ => true,
    }
}
