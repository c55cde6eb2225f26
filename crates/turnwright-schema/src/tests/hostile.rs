//! Hostile arguments: deep, large, long, ambiguous.

use serde_json::{Value, json};

use super::{fault, of};
use crate::Limits;
use crate::Schema;

/// Nested arrays as text.
fn nested_text(levels: usize) -> String {
    format!(
        "{{\"v\":{}{}}}",
        "[".repeat(levels - 1),
        "]".repeat(levels - 1)
    )
}

fn nested_value(levels: usize) -> Value {
    let mut value = json!([]);
    for _ in 0..levels - 2 {
        value = Value::Array(vec![value]);
    }
    // Without `json!`, which would copy it.
    Value::Object(serde_json::Map::from_iter([("v".to_owned(), value)]))
}

#[test]
fn depth_limit_is_the_same_for_text_and_values() {
    let schema = of(json!({}));
    for levels in [127, 128] {
        assert!(
            schema.check(nested_text(levels)).is_ok(),
            "{levels} levels as text"
        );
        assert!(
            schema.check(nested_value(levels)).is_ok(),
            "{levels} levels as a value"
        );
    }
    for levels in [129, 100_000] {
        for error in [
            schema.check(nested_text(levels)).unwrap_err(),
            schema.check(nested_value(129)).unwrap_err(),
        ] {
            assert_eq!(fault(&error), ("", "max_depth"), "{levels}");
            assert!(
                error
                    .model_text(None)
                    .contains("at most 128 levels deep: send a flatter structure"),
                "{error}"
            );
        }
    }
}

#[test]
fn depth_is_counted_after_decoding_json_in_strings() {
    let schema = of(json!({ "v": { "type": "array", "items": { "type": "array" } } }));
    let inner = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    // The object, the array, and the decoded string.
    assert!(schema.check(json!({ "v": [inner(126)] })).is_ok());
    let error = schema.check(json!({ "v": [inner(127)] })).unwrap_err();
    assert_eq!(fault(&error), ("/v/0", "max_depth"));
}

#[test]
fn oversized_arguments_are_rejected_before_decoding_and_the_limit_is_configurable() {
    let schema = of(json!({}));
    let text = format!("{{\"v\": \"{}\"}}", "a".repeat(50 << 20));
    let error = schema.check(text.as_str()).unwrap_err();
    assert_eq!(fault(&error), ("", "max_bytes"));
    assert!(error.model_text(None).len() < 300);
    let error = schema
        .check(json!({ "v": "a".repeat(2 << 20) }))
        .unwrap_err();
    assert_eq!(fault(&error), ("", "max_bytes"));
    assert!(
        schema
            .with_limits(Limits::default().max_bytes(64 << 20))
            .check(text)
            .is_ok()
    );
}

#[test]
fn nested_unions_stop_at_the_work_limit() {
    let node = |fewest: usize| json!({ "type": "object", "properties": { "c": { "$ref": "#/$defs/node" } }, "minProperties": fewest });
    let schema = Schema::from_document(json!({
        "type": "object", "properties": { "v": { "$ref": "#/$defs/node" } },
        "$defs": { "node": { "anyOf": [node(2), node(3), { "type": "integer" }] } },
    }))
    .unwrap();
    let mut value = json!("no number");
    for _ in 0..100 {
        value = json!({ "c": value });
    }
    let error = schema.check(json!({ "v": value })).unwrap_err();
    assert_eq!(fault(&error).1, "work");
    assert_eq!(
        error.faults()[0].message,
        "takes too long to check: send less data"
    );
}

/// Tagged expressions nested in each other: the shape of every recursive Rust enum.
fn expressions() -> Schema {
    let unary = |op: &str| json!({ "type": "object", "properties": { "op": { "const": op }, "e": { "$ref": "#/$defs/e" } }, "required": ["op", "e"] });
    let literal = json!({ "type": "object", "properties": { "op": { "const": "lit" }, "v": { "type": "integer" } }, "required": ["op", "v"] });
    Schema::from_document(json!({
        "type": "object", "properties": { "e": { "$ref": "#/$defs/e" } },
        "$defs": { "e": { "oneOf": [literal, unary("neg"), unary("not"), unary("abs")] } },
    }))
    .unwrap()
}

#[allow(clippy::needless_pass_by_value, reason = "reads better with a literal")]
fn nested_expression(depth: usize, leaf: Value) -> Value {
    let mut value = json!({ "op": "lit", "v": leaf });
    for _ in 0..depth {
        value = json!({ "op": "neg", "e": value });
    }
    json!({ "e": value })
}

#[test]
fn a_recursive_enum_is_repaired_at_every_depth_and_explained_where_that_is_cheap() {
    let schema = expressions();
    for depth in [1, 8, 40] {
        let checked = schema.check(nested_expression(depth, json!("7"))).unwrap();
        assert_eq!(checked.value(), &nested_expression(depth, json!(7)));
        let error = schema
            .check(nested_expression(depth, json!("seven")))
            .unwrap_err();
        let explained = if depth < 10 {
            "must be of type integer (got \"seven\")"
        } else {
            "the errors are too many to list"
        };
        assert!(
            error.model_text(None).contains(explained),
            "{depth}: {error}"
        );
    }
    // A large leaf is not copied for every branch of every level.
    let error = schema
        .check(nested_expression(6, json!(vec![1; 100_000])))
        .unwrap_err();
    assert_eq!(fault(&error), ("", "schema"));
}

#[test]
fn long_key_above_many_faults_does_not_multiply_the_output() {
    let key = "k".repeat(400_000);
    let many = |item: &str| format!("{{\"{key}\":[{}]}}", vec![item; 100_000].join(","));
    let schema = Schema::from_document(json!({
        "type": "object", "additionalProperties": { "type": "array", "items": { "type": "integer" } },
    }))
    .unwrap();
    assert_eq!(fault(&schema.check(many("\"1\"")).unwrap_err()).1, "work");
    // Defaults that cannot all be recorded are not silently left out.
    let filling = Schema::from_document(json!({
        "type": "object",
        "additionalProperties": { "type": "array", "items": { "properties": { "a": { "default": 1 } } } },
    }))
    .unwrap();
    assert_eq!(fault(&filling.check(many("{}")).unwrap_err()).1, "work");
    let wrong = schema.check(many("true")).unwrap_err();
    assert!(wrong.model_text(None).len() < 20_000);
    let repeats = format!("{{\"{key}\":{{{}}}}}", vec!["\"a\":1"; 90_000].join(","));
    let error = schema.check(repeats).unwrap_err();
    assert_eq!(
        (error.faults().len(), error.more_faults() > 80_000),
        (20, true)
    );
    assert!(error.model_text(None).len() < 20_000);
}

#[test]
fn model_text_stays_short() {
    let schema = of(
        json!({ "u": { "anyOf": [{ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": false }, { "type": "string" }] } }),
    );
    let many: serde_json::Map<String, Value> =
        (0..5_000).map(|n| (format!("k{n}"), json!(1))).collect();
    assert!(
        schema
            .check(json!({ "u": many }))
            .unwrap_err()
            .model_text(None)
            .len()
            < 2_000
    );
    let closed = Schema::object().build().unwrap();
    let unseen: serde_json::Map<String, Value> = (0..30)
        .map(|n| (format!("{n}{}", "\u{202e}".repeat(500)), json!(1)))
        .collect();
    assert!(
        closed
            .check(Value::Object(unseen))
            .unwrap_err()
            .model_text(None)
            .len()
            < 15_000
    );
    let options: Vec<String> = (0..5_000).map(|n| format!("option number {n}")).collect();
    let error = of(json!({ "o": { "enum": options } }))
        .check(json!({ "o": "x" }))
        .unwrap_err();
    assert!(
        error.model_text(None).contains(" more") && error.model_text(None).len() < 1_000,
        "{}",
        error.model_text(None)
    );
}

#[test]
fn long_lists_are_repaired_and_other_faults_are_reported() {
    let schema = of(
        json!({ "l": { "items": { "type": "integer" } }, "n": { "type": "integer" }, "m": { "default": 7 } }),
    );
    let list = vec!["1"; 250_000].join(",");
    let checked = schema
        .check(format!("{{\"l\":[1.0,{list}],\"n\":\"7\"}}"))
        .unwrap();
    assert_eq!(
        (
            &checked.value()["n"],
            &checked.value()["m"],
            &checked.value()["l"][0]
        ),
        (&json!(7), &json!(7), &json!(1))
    );
    let error = schema
        .check(format!("{{\"l\":[{list}],\"n\":\"x\"}}"))
        .unwrap_err();
    assert_eq!(fault(&error), ("/n", "type"));
}

#[test]
fn deep_values_under_nested_schemas_do_not_overflow_the_stack() {
    let mut inner = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/n" } } });
    for _ in 0..30 {
        inner = json!({ "anyOf": [inner, { "type": "integer" }] });
    }
    let schema = Schema::from_document(json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/n" } }, "$defs": { "n": inner } })).unwrap();
    for (leaf, fits) in [("{}", true), ("\"1\"", true), ("true", false)] {
        let text = format!("{}{leaf}{}", "{\"a\":".repeat(126), "}".repeat(126));
        assert_eq!(schema.check(text).is_ok(), fits, "{leaf}");
    }
    // The same with a deep default, or with a string that holds deep JSON.
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({ "a": deep });
    }
    let mut document = schema.document().clone();
    document["properties"]["d"] = json!({ "$ref": "#/$defs/n", "default": deep });
    let schema = Schema::from_document(document).unwrap();
    assert!(schema.check("{}").is_ok());
    assert!(schema.check(json!({ "a": deep.to_string() })).is_ok());
}

#[test]
fn defaults_cannot_exceed_the_size_limit() {
    let long = "x".repeat(1000);
    let schema = of(json!({ "v": { "items": { "properties": { "d": { "default": long } } } } }));
    assert!(schema.check(json!({ "v": vec![json!({}); 100] })).is_ok());
    let error = schema
        .check(json!({ "v": vec![json!({}); 10_000] }))
        .unwrap_err();
    assert_eq!(fault(&error), ("", "max_bytes"));
    assert_eq!(
        error.faults()[0].message,
        "would exceed 1048576 bytes with the defaults filled in: send less data"
    );
}

/// Returns nested unions of `levels` levels, in which every alternative leads to the next level.
fn nested_unions(levels: usize, alternatives: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = format!("#/$defs/d{}", level + 1);
        let one = json!({ "type": "object", "properties": { "x": { "$ref": next } } });
        definitions.insert(
            format!("d{level}"),
            json!({ "anyOf": vec![one; alternatives] }),
        );
    }
    definitions.insert(format!("d{levels}"), json!({ "type": "integer" }));
    json!({
        "type": "object",
        "properties": { "n": { "$ref": "#/$defs/d0" } },
        "$defs": definitions,
    })
}

#[test]
fn unions_with_too_many_combinations_are_rejected() {
    let error = Schema::from_document(nested_unions(24, 6)).unwrap_err();
    let [problem] = error.problems() else {
        panic!("{error}")
    };
    assert!(problem.pointer.starts_with("/$defs/d"), "{problem:?}");
    assert!(problem.message.contains("nested unions"), "{problem:?}");

    // Realistic documents are far below the limit.
    let schema = Schema::from_document(nested_unions(4, 8)).unwrap();
    let mut value = json!("wrong");
    for _ in 0..4 {
        value = json!({ "x": value });
    }
    assert!(schema.check(json!({ "n": value })).is_err());
}

#[test]
fn recursive_union_is_accepted() {
    let variants: Vec<Value> = (0..20)
        .map(|n| json!({
            "type": "object",
            "properties": { "op": { "const": n }, "left": { "$ref": "#/$defs/e" }, "right": { "$ref": "#/$defs/e" } },
            "required": ["op"],
        }))
        .collect();
    let schema = Schema::from_document(json!({
        "type": "object",
        "properties": { "e": { "$ref": "#/$defs/e" } },
        "$defs": { "e": { "anyOf": variants } },
    }))
    .unwrap();
    let tree = json!({ "op": 3, "left": { "op": 7 }, "right": { "op": 19, "left": { "op": 1 } } });
    assert!(schema.check(json!({ "e": tree })).is_ok());
}
