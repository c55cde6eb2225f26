//! The exact texts that a model reads.

use serde_json::{Value, json};

use super::of;
use crate::{Fault, InvalidArguments, Limits, Rejection, Schema, any_of, integer, null};

/// Returns the text of the only fault of a property `v` with this schema.
#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better with a literal")]
fn text(schema: Value, value: Value) -> String {
    line(
        &of(json!({ "v": schema })),
        &json!({ "v": value }).to_string(),
    )
}

#[track_caller]
fn line(schema: &Schema, arguments: &str) -> String {
    let error = schema.check(arguments).unwrap_err();
    let text = error.model_text(None);
    let (lead, faults) = text.split_once('\n').unwrap();
    assert_eq!(
        lead,
        "Invalid arguments. The tool was not run. Fix the following and call it again:"
    );
    faults.to_owned()
}

#[test]
fn lead_names_the_tool() {
    let error = InvalidArguments::from(Fault::new("/city", "city_exists", "is not a known city"));
    assert_eq!(
        error.model_text(Some("`forecast`")),
        "Invalid arguments for `forecast`. The tool was not run. Fix the following and call it again:\n\
         - /city: is not a known city"
    );
    assert_eq!(
        error.operator_text(Some("`forecast`")),
        "invalid arguments for `forecast`: /city is not a known city"
    );
    assert_eq!(
        error.to_string(),
        "invalid arguments: /city is not a known city"
    );
}

#[test]
fn keywords() {
    for (schema, value, expected) in [
        (
            json!({ "type": "integer" }),
            json!("x"),
            r#"- /v: must be of type integer (got "x")"#,
        ),
        (
            json!({ "type": ["integer", "null"] }),
            json!("x"),
            r#"- /v: must be of type null or integer (got "x")"#,
        ),
        (
            json!({ "enum": ["a", "b"] }),
            json!("c"),
            r#"- /v: must be one of "a", "b" (got "c")"#,
        ),
        (
            json!({ "const": "a" }),
            json!("c"),
            r#"- /v: must be "a" (got "c")"#,
        ),
        (
            json!({ "minimum": 1 }),
            json!(0),
            "- /v: must be at least 1 (got 0)",
        ),
        (
            json!({ "maximum": 1 }),
            json!(2),
            "- /v: must be at most 1 (got 2)",
        ),
        (
            json!({ "exclusiveMinimum": 1 }),
            json!(1),
            "- /v: must be more than 1 (got 1)",
        ),
        (
            json!({ "exclusiveMaximum": 1 }),
            json!(1),
            "- /v: must be less than 1 (got 1)",
        ),
        (
            json!({ "multipleOf": 2 }),
            json!(3),
            "- /v: must be a multiple of 2 (got 3)",
        ),
        (
            json!({ "minLength": 1 }),
            json!(""),
            r#"- /v: must be at least 1 character (got "")"#,
        ),
        (
            json!({ "maxLength": 2 }),
            json!("abc"),
            r#"- /v: must be at most 2 characters (got "abc")"#,
        ),
        (
            json!({ "minItems": 1 }),
            json!([]),
            "- /v: must be at least 1 item (got [])",
        ),
        (
            json!({ "maxItems": 1 }),
            json!([1, 2]),
            "- /v: must be at most 1 item (got [1,2])",
        ),
        (
            json!({ "prefixItems": [true], "items": false }),
            json!([1, 2]),
            "- /v/1: must be absent (got 2)",
        ),
        (
            json!({ "prefixItems": [true], "unevaluatedItems": false }),
            json!([1, 2]),
            "- /v: must be an array without additional items (got [1,2])",
        ),
        (
            json!({ "minProperties": 1 }),
            json!({}),
            "- /v: must be an object with at least 1 property (got {})",
        ),
        (
            json!({ "maxProperties": 1 }),
            json!({ "a": 1, "b": 2 }),
            r#"- /v: must be an object with at most 1 property (got {"a":1,"b":2})"#,
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 1]),
            "- /v: must be an array without repeated items (got [1,1])",
        ),
        (
            json!({ "pattern": "^a$" }),
            json!("b"),
            r#"- /v: must be a string that matches the pattern ^a$ (got "b")"#,
        ),
        (
            json!({ "format": "email" }),
            json!("b"),
            r#"- /v: must be a valid email (got "b")"#,
        ),
        (
            json!({ "contains": { "const": 1 } }),
            json!([2]),
            "- /v: must be an array with an item that matches `contains` (got [2])",
        ),
        (
            json!({ "not": { "type": "integer" } }),
            json!(1),
            "- /v: must be a value that does not match `not` (got 1)",
        ),
        (
            json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 5 }] }),
            json!(3),
            "- /v: must be valid for exactly one alternative, not for several (got 3)",
        ),
        (
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            r#"- /v/ab: must be a name that is at most 1 character (got "ab")"#,
        ),
        (json!(false), json!(1), "- /v: must be absent (got 1)"),
        (
            json!({ "required": ["a"] }),
            json!({}),
            "- /v/a: is required but missing",
        ),
        (
            json!({ "properties": { "name": true }, "additionalProperties": false }),
            json!({ "nam": 1 }),
            "- /v/nam: is not a known property: did you mean `name`?",
        ),
        (
            json!({ "properties": {}, "additionalProperties": false }),
            json!({ "x": 1 }),
            "- /v/x: is not a known property: leave it out",
        ),
        (
            json!({ "dependentRequired": { "a": ["b"] } }),
            json!({ "a": 1 }),
            "- /v/b: is required but missing",
        ),
        (
            json!({ "anyOf": [{ "type": "integer", "minimum": 5 }, { "type": "integer", "maximum": 1 }] }),
            json!(3),
            "- /v: matches none of 2 alternatives (got 3); the closest is alternative 1: must be at least 5 (got 3)",
        ),
    ] {
        assert_eq!(text(schema, value), expected);
    }
}

#[test]
fn draft_7_content() {
    for (keyword, name, expected) in [
        (
            "contentEncoding",
            "base64",
            r#"- /v: must be a string encoded as base64 (got "{")"#,
        ),
        (
            "contentMediaType",
            "application/json",
            r#"- /v: must be a string of media type application/json (got "{")"#,
        ),
    ] {
        let schema = Schema::from_document(json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": { "v": { "type": "string", keyword: name } },
        }))
        .unwrap();
        assert_eq!(line(&schema, r#"{"v": "{"}"#), expected);
    }
}

#[test]
fn decoding() {
    let schema = of(json!({}));
    for (arguments, expected) in [
        (
            "",
            "- the arguments: must be one JSON object: no arguments were sent; send {} if there are none",
        ),
        (
            "{\"a\": ",
            "- the arguments: must be one JSON object: the JSON ends too early, at line 1 column 6; send the complete object",
        ),
        (
            "{'a': 1}",
            "- the arguments: must be one JSON object: key must be a string at line 1 column 2",
        ),
        ("[]", "- the arguments: must be of type object (got [])"),
        (
            "{\"a\": 1, \"a\": 2}",
            "- /a: appears more than once: send each key once",
        ),
        (
            "{\"$serde_json::private::Number\": \"1\"}",
            "- the arguments: must not contain a key that starts with `$serde_json::private::`",
        ),
    ] {
        assert_eq!(line(&schema, arguments), expected, "{arguments}");
    }
}

#[test]
fn limits() {
    let limited = |limits| {
        Schema::options()
            .limits(limits)
            .document(
                json!({ "type": "object", "properties": { "d": { "default": "0123456789" } } }),
            )
            .unwrap()
    };
    let small = limited(Limits::default().max_bytes(16));
    assert_eq!(
        line(&small, r#"{"a": "0123456789"}"#),
        "- the arguments: must be at most 16 bytes (got 19): send less data"
    );
    assert_eq!(
        line(&limited(Limits::default().max_depth(2)), r#"{"a": [[]]}"#),
        "- the arguments: must be at most 2 levels deep: send a flatter structure"
    );
}

#[test]
fn fallback_for_expensive_explanations() {
    let schema = of(json!({ "v": { "anyOf": [
        { "type": "array", "items": { "type": "integer" } },
        { "type": "array", "items": { "type": "string" } },
    ] } }));
    let many = vec!["true"; 200_000].join(",");
    assert_eq!(
        line(&schema, &format!("{{\"v\": [{many}]}}")),
        "- the arguments: do not match the schema; the errors are too many to list: send less data or a simpler structure"
    );
}

#[test]
fn summaries() {
    let schema = of(json!({ "v": { "items": { "type": "integer" } } }));
    let many = vec!["true"; 22].join(",");
    assert!(line(&schema, &format!("{{\"v\": [{many}]}}")).ends_with("\n- and 2 more"));
}

#[tokio::test]
async fn external_check_that_fails() {
    let schema = Schema::object()
        .field("n", any_of([integer(), null()]))
        .build()
        .unwrap()
        .external("reachable", |_| async {
            Err::<(), Rejection>(std::io::Error::other("down").into())
        });
    let error = schema.check_all("{}").await.unwrap_err();
    assert_eq!(
        error.faults()[0].to_string(),
        "the arguments could not be checked because of an internal problem: try again later"
    );
}
