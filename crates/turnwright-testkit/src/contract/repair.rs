//! The permitted repairs of a check: defaults, coercion of strings, `null` for an absent property.

use serde_json::Value;

use super::document::Document;

/// Returns `true` if a check may turn `before` into `after`. A valid value only gets defaults.
pub(crate) fn is_promised(doc: &Document<'_>, before: &Value, after: &Value, valid: bool) -> bool {
    let is_default = |name: &String, value: &Value| {
        let defaults = doc.defaults.get(name.as_str());
        let mut defaults = defaults.into_iter().flatten();
        defaults.any(|default| is_promised(doc, default, value, true))
    };
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let follows = |(name, value): (&String, &Value)| match after.get(name) {
                Some(new) => {
                    is_promised(doc, value, new, valid)
                        || !valid && value.is_null() && is_default(name, new)
                }
                None => !valid && value.is_null(),
            };
            let mut added = after.iter().filter(|(name, _)| !before.contains_key(*name));
            before.iter().all(follows) && added.all(|(name, value)| is_default(name, value))
        }
        (Value::Array(before), Value::Array(after)) => {
            let mut pairs = before.iter().zip(after);
            before.len() == after.len()
                && pairs.all(|(before, after)| is_promised(doc, before, after, valid))
        }
        (Value::Number(before), Value::Number(after)) => before.as_f64() == after.as_f64(),
        (Value::String(text), after) if !after.is_string() => {
            let text = text.trim();
            !valid
                && match after {
                    Value::Number(number) => text.parse().ok() == number.as_f64(),
                    Value::Bool(true) => text.eq_ignore_ascii_case("true"),
                    Value::Bool(false) => text.eq_ignore_ascii_case("false"),
                    Value::Null => false,
                    after => serde_json::from_str(text)
                        .is_ok_and(|read: Value| is_promised(doc, &read, after, valid)),
                }
        }
        (before, after) => before == after,
    }
}

/// Returns `true` if a repair may change something in the value.
pub(crate) fn is_repairable(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => {
            let text = text.trim();
            text.eq_ignore_ascii_case("true")
                || text.eq_ignore_ascii_case("false")
                || text.starts_with(['{', '['])
                || text.parse::<f64>().is_ok()
        }
        Value::Array(items) => items.iter().any(is_repairable),
        Value::Object(object) => object.values().any(is_repairable),
        _ => false,
    }
}
