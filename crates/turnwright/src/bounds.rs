//! Adds the bounds of an `#[arg]` attribute to the schema of the parameter's type.

use std::cmp::Ordering;

use schemars::Schema;
use serde::Serialize;
use serde_json::{Number, Value, json};
use turnwright_core::Error;
use turnwright_core::schema::Schema as CheckedSchema;

/// Rejects a format that is not enforced, and names the field. Schemas of types leave such formats out, because schemars
/// writes many of them. This one is the author's.
pub fn enforced_format(field: &str, format: &str) -> Result<(), Error> {
    let alone = turnwright_core::schema::string().format(format);
    CheckedSchema::object().field(field, alone).build()?;
    Ok(())
}

/// Returns a transformation that adds a bound to the schema of a type. The schema must not accept more than the type, so the
/// stricter of two limits is used. If they cannot be compared, both are required.
pub fn narrow(keyword: &'static str, bound: impl Serialize) -> impl FnMut(&mut Schema) {
    // A value that is not JSON becomes `null`, which is rejected with its location when the schema is built.
    let bound = serde_json::to_value(bound).unwrap_or(Value::Null);
    move |schema| add(schema, keyword, &bound)
}

fn add(schema: &mut Schema, keyword: &str, bound: &Value) {
    match schema.get(keyword) {
        Some(own) if own == bound => {}
        Some(own) => match is_stricter(keyword, bound, own) {
            Some(true) => insert(schema, keyword, bound),
            Some(false) => {}
            None if keyword == "format" && !takes_text(schema) => insert(schema, keyword, bound),
            None => also(schema, keyword, bound),
        },
        None => insert(schema, keyword, bound),
    }
}

/// A number has a format of its own (`uint8`). A text format that replaces it is rejected when the schema is built. A text
/// format next to it would silently have no effect.
fn takes_text(schema: &Schema) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        _ => true,
    }
}

fn insert(schema: &mut Schema, keyword: &str, bound: &Value) {
    schema.insert(keyword.to_owned(), bound.clone());
}

/// Requires the bound in addition to the existing keyword.
fn also(schema: &mut Schema, keyword: &str, bound: &Value) {
    let mut all = match schema.get("allOf") {
        Some(Value::Array(all)) => all.clone(),
        _ => Vec::new(),
    };
    all.push(json!({ keyword: bound }));
    schema.insert("allOf".to_owned(), Value::Array(all));
}

/// Returns whether `bound` is stricter than `own`, or `None` if they cannot be compared.
fn is_stricter(keyword: &str, bound: &Value, own: &Value) -> Option<bool> {
    let (Value::Number(bound), Value::Number(own)) = (bound, own) else {
        return None;
    };
    let order = compare(bound, own)?;
    match keyword {
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" => {
            Some(order == Ordering::Greater)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" => Some(order == Ordering::Less),
        _ => None,
    }
}

fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(own: Value, keyword: &'static str, bound: impl Serialize) -> Value {
        let mut schema = Schema::try_from(own).unwrap();
        narrow(keyword, bound)(&mut schema);
        schema.to_value()
    }

    #[test]
    fn a_bound_that_the_type_does_not_have_is_added() {
        assert_eq!(
            narrowed(json!({"type": "string"}), "minLength", 1),
            json!({"type": "string", "minLength": 1})
        );
    }

    #[test]
    fn the_stricter_of_two_limits_stays() {
        let byte = json!({"type": "integer", "minimum": 0, "maximum": 255});
        assert_eq!(narrowed(byte.clone(), "minimum", 1)["minimum"], 1);
        assert_eq!(narrowed(byte.clone(), "minimum", -1)["minimum"], 0);
        assert_eq!(narrowed(byte.clone(), "maximum", 14)["maximum"], 14);
        assert_eq!(narrowed(byte, "maximum", 255.5)["maximum"], 255);
    }

    #[test]
    fn keywords_that_cannot_be_compared_are_combined_with_all_of() {
        let own = json!({"type": "string", "pattern": "^a"});
        assert_eq!(
            narrowed(own, "pattern", "z$"),
            json!({"type": "string", "pattern": "^a", "allOf": [{"pattern": "z$"}]})
        );
    }

    #[test]
    fn a_format_on_a_number_is_put_where_the_construction_sees_it() {
        let own = json!({"type": ["integer", "null"], "format": "uint8"});
        assert_eq!(narrowed(own, "format", "email")["format"], "email");
    }

    #[test]
    fn a_format_that_is_not_enforced_is_refused_with_its_place() {
        assert!(enforced_format("reply_to", "email").is_ok());
        let error = enforced_format("reply_to", "phone").unwrap_err();
        assert_eq!(error.problems()[0].pointer, "/properties/reply_to/format");
    }

    #[test]
    fn a_bound_that_is_no_number_is_left_for_the_construction_to_refuse() {
        let number = json!({"type": "number"});
        assert_eq!(
            narrowed(number, "minimum", f64::NAN),
            json!({"type": "number", "minimum": null})
        );
    }
}
