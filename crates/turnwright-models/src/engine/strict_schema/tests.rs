use serde_json::{Value, json};

use super::{StrictRules, check};

static RULES: StrictRules = StrictRules {
    rejected: &[
        ("minimum", "check it in the tool"),
        ("oneOf", "use `anyOf`"),
    ],
    formats: Some(&["date"]),
    max_min_items: Some(1),
    max_optional: 2,
    max_unions: Some(1),
    allows_recursion: false,
};

#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
fn closed(properties: Value, required: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn error(schema: &Value, rules: &StrictRules) -> String {
    check(schema, rules).unwrap_err()
}

#[test]
fn closed_objects_fit() {
    let inner = closed(
        json!({ "day": { "type": "string", "format": "date" } }),
        json!(["day"]),
    );
    let list = json!({ "type": "array", "items": inner, "minItems": 1 });
    let choice = json!({ "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/Part" }] });
    let mut schema = closed(json!({ "list": list, "choice": choice }), json!(["list"]));
    schema["$defs"] = json!({ "Part": closed(json!({}), json!([])) });
    assert_eq!(check(&schema, &RULES), Ok(()));
}

#[test]
fn misfits_are_reported_with_their_pointer_and_advice() {
    let property = |schema: Value| closed(json!({ "a/b": schema }), json!(["a/b"]));
    let cases = [
        (
            json!({ "type": "object" }),
            "`/additionalProperties`",
            "closed",
        ),
        (
            property(json!({ "type": ["object", "null"] })),
            "`/properties/a~1b/additionalProperties`",
            "closed",
        ),
        (
            property(json!({ "type": "integer", "minimum": 0 })),
            "`/properties/a~1b/minimum`",
            "check it in the tool",
        ),
        (
            property(json!({ "oneOf": [] })),
            "`/properties/a~1b/oneOf`",
            "use `anyOf`",
        ),
        (
            property(json!({ "anyOf": [{ "minimum": 1 }] })),
            "`/properties/a~1b/anyOf/0/minimum`",
            "check",
        ),
        (
            property(json!({ "type": "string", "format": "color" })),
            "`/properties/a~1b/format`",
            "one of date",
        ),
        (
            property(json!({ "type": "array", "minItems": 2 })),
            "`/properties/a~1b/minItems`",
            "at most 1 (got 2)",
        ),
        (
            property(json!({ "type": "array", "items": true })),
            "`/properties/a~1b/items`",
            "give it a `type`",
        ),
        (
            property(json!({ "$ref": "https://example.com/a" })),
            "`/properties/a~1b/$ref`",
            "copy the definition",
        ),
        (
            property(json!({ "$ref": "#/$defs/Missing" })),
            "`/$defs/Missing`",
            "does not exist",
        ),
        (
            property(json!({ "$ref": "#" })),
            "`/properties/a~1b/$ref`",
            "recursive",
        ),
    ];
    for (schema, pointer, advice) in cases {
        let error = error(&schema, &RULES);
        assert!(error.contains(pointer) && error.contains(advice), "{error}");
    }
}

#[test]
fn optional_properties_and_alternatives_are_limited() {
    let text = json!({ "type": "string" });
    let three = closed(json!({ "a": text, "b": text, "c": text }), json!([]));
    assert!(error(&three, &RULES).contains("3 optional properties"));
    let all_required = StrictRules {
        max_optional: 0,
        ..RULES_OPEN
    };
    let message = error(&three, &all_required);
    assert!(
        message.contains("`/properties/a`") && message.contains("allow `null`"),
        "{message}"
    );
    let either = json!({ "type": ["string", "null"] });
    let two = closed(json!({ "a": either, "b": either }), json!(["a", "b"]));
    assert!(error(&two, &RULES).contains("2 schemas with alternatives"));
}

const RULES_OPEN: StrictRules = StrictRules {
    rejected: &[],
    formats: None,
    max_min_items: None,
    max_optional: usize::MAX,
    max_unions: None,
    allows_recursion: true,
};

#[test]
fn indirect_recursion_is_found_and_can_be_allowed() {
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let mut schema = closed(
        json!({ "a": reference("A"), "again": reference("A") }),
        json!(["a", "again"]),
    );
    schema["$defs"] = json!({
        "A": closed(json!({ "b": reference("B") }), json!(["b"])),
        "B": closed(json!({ "a": reference("A") }), json!(["a"])),
    });
    assert!(error(&schema, &RULES).contains("`/$defs/B/properties/a/$ref`"));
    assert_eq!(check(&schema, &RULES_OPEN), Ok(()));
    // The same definition twice is no recursion.
    schema["$defs"]["B"] = closed(json!({}), json!([]));
    assert_eq!(check(&schema, &RULES), Ok(()));
}
