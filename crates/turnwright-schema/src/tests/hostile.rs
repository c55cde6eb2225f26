//! Arguments that mean no good: deep, large, long, ambiguous.

use serde_json::{Value, json};

use super::{fault, of};
use crate::Limits;
use crate::Schema;

/// Arrays in arrays, as text.
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
    // Not by `json!`, which would copy it.
    Value::Object(serde_json::Map::from_iter([("v".to_owned(), value)]))
}

#[test]
fn depth_is_counted_the_same_by_text_and_by_value() {
    let schema = of(json!({}));
    for levels in [127, 128] {
        assert!(
            schema.check(nested_text(levels)).is_ok(),
            "{levels} by text"
        );
        assert!(
            schema.check(nested_value(levels)).is_ok(),
            "{levels} by value"
        );
    }
    for levels in [129, 100_000] {
        for error in [
            schema.check(nested_text(levels)).unwrap_err(),
            schema.check(nested_value(levels)).unwrap_err(),
        ] {
            assert_eq!(fault(&error), ("", "max_depth"), "{levels}");
            assert!(
                error
                    .model_text()
                    .contains("at most 128 levels deep: send something flatter"),
                "{error}"
            );
        }
    }
}

#[test]
fn depth_is_counted_after_text_inside_was_decoded() {
    let schema = of(json!({ "v": { "type": "array", "items": { "type": "array" } } }));
    let inner = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    // The object, the array, and what the text holds.
    assert!(schema.check(json!({ "v": [inner(126)] })).is_ok());
    let error = schema.check(json!({ "v": [inner(127)] })).unwrap_err();
    assert_eq!(fault(&error), ("/v/0", "max_depth"));
}

#[test]
fn fifty_mebibytes_are_refused_unread_and_the_limit_is_yours_to_set() {
    let schema = of(json!({}));
    let text = format!("{{\"v\": \"{}\"}}", "a".repeat(50 << 20));
    let error = schema.check(text.as_str()).unwrap_err();
    assert_eq!(fault(&error), ("", "max_bytes"));
    assert!(error.model_text().len() < 300);
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
fn unions_in_unions_end_in_time() {
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
    assert!(error.model_text().contains("send less at once"));
}

/// Expressions by a tag, each in the next: the shape that every recursive enum of Rust has.
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
fn a_recursive_enum_is_repaired_and_explained_at_every_depth() {
    let schema = expressions();
    for depth in [1, 8, 40] {
        let checked = schema.check(nested_expression(depth, json!("7"))).unwrap();
        assert_eq!(checked.value(), &nested_expression(depth, json!(7)));
        let error = schema
            .check(nested_expression(depth, json!("seven")))
            .unwrap_err();
        assert!(
            error
                .model_text()
                .contains("must be of type integer (got \"seven\")"),
            "{depth}: {error}"
        );
    }
    // A large leaf is not copied for every branch of every level.
    let error = schema
        .check(nested_expression(6, json!(vec![1; 100_000])))
        .unwrap_err();
    assert!(error.faults()[0].pointer.starts_with("/e"), "{error}");
}

#[test]
fn a_long_key_over_many_faults_repairs_or_repeats_does_not_multiply() {
    let key = "k".repeat(400_000);
    let many = |item: &str| format!("{{\"{key}\":[{}]}}", vec![item; 100_000].join(","));
    let schema = Schema::from_document(json!({
        "type": "object", "additionalProperties": { "type": "array", "items": { "type": "integer" } },
    }))
    .unwrap();
    assert_eq!(fault(&schema.check(many("\"1\"")).unwrap_err()).1, "work");
    // Defaults that cannot all be noted are not left out in silence.
    let filling = Schema::from_document(json!({
        "type": "object",
        "additionalProperties": { "type": "array", "items": { "properties": { "a": { "default": 1 } } } },
    }))
    .unwrap();
    assert_eq!(fault(&filling.check(many("{}")).unwrap_err()).1, "work");
    let wrong = schema.check(many("true")).unwrap_err();
    assert!(wrong.model_text().len() < 20_000);
    let repeats = format!("{{\"{key}\":{{{}}}}}", vec!["\"a\":1"; 90_000].join(","));
    let error = schema.check(repeats).unwrap_err();
    assert_eq!(
        (error.faults().len(), error.more_faults() > 80_000),
        (20, true)
    );
    assert!(error.model_text().len() < 20_000);
}

#[test]
fn what_the_model_is_told_stays_short() {
    let schema = of(
        json!({ "u": { "anyOf": [{ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": false }, { "type": "string" }] } }),
    );
    let many: serde_json::Map<String, Value> =
        (0..5_000).map(|n| (format!("k{n}"), json!(1))).collect();
    assert!(
        schema
            .check(json!({ "u": many }))
            .unwrap_err()
            .model_text()
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
            .model_text()
            .len()
            < 15_000
    );
    let options: Vec<String> = (0..5_000).map(|n| format!("option number {n}")).collect();
    let error = of(json!({ "o": { "enum": options } }))
        .check(json!({ "o": "x" }))
        .unwrap_err();
    assert!(
        error.model_text().contains(" more") && error.model_text().len() < 1_000,
        "{}",
        error.model_text()
    );
}

#[test]
fn long_lists_are_repaired_and_faults_beside_them_are_found() {
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
fn only_what_is_wrong_is_told_also_where_it_cannot_all_be_explained() {
    // No union and no default, so that no part of the schema was asked for by itself before.
    let schema = of(
        json!({ "l": { "type": "array", "items": { "type": "integer" } }, "n": { "type": "integer" } }),
    );
    let list = vec!["1"; 400_000].join(",");
    let error = schema
        .check(format!("{{\"l\":[{list}],\"n\":\"x\"}}"))
        .unwrap_err();
    let found: Vec<(&str, &str)> = error
        .faults()
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.rule.as_str()))
        .collect();
    assert_eq!(found, [("/n", "type")]);
    let error = schema
        .check(format!("{{\"l\":[1,true,{list}],\"n\":2}}"))
        .unwrap_err();
    assert_eq!((error.faults().len(), fault(&error)), (1, ("/l/1", "type")));
}

#[test]
fn deep_values_under_nested_schemas_have_room() {
    let mut inner = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/n" } } });
    for _ in 0..30 {
        inner = json!({ "anyOf": [inner, { "type": "integer" }] });
    }
    let schema = Schema::from_document(json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/n" } }, "$defs": { "n": inner } })).unwrap();
    for (leaf, fits) in [("{}", true), ("\"1\"", true), ("true", false)] {
        let text = format!("{}{leaf}{}", "{\"a\":".repeat(126), "}".repeat(126));
        assert_eq!(schema.check(text).is_ok(), fits, "{leaf}");
    }
    // The same by a default that is deep, or by text that holds something deep.
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
fn defaults_cannot_make_arguments_larger_than_they_may_be() {
    let long = "x".repeat(1000);
    let schema = of(json!({ "v": { "items": { "properties": { "d": { "default": long } } } } }));
    assert!(schema.check(json!({ "v": vec![json!({}); 100] })).is_ok());
    let error = schema
        .check(json!({ "v": vec![json!({}); 10_000] }))
        .unwrap_err();
    assert_eq!(fault(&error), ("", "max_bytes"));
    assert!(error.model_text().contains("with the defaults"));
}

/// Levels of unions, each with so many alternatives that all lead on to the next.
fn unions_within_unions(levels: usize, alternatives: usize) -> Value {
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
fn unions_within_unions_that_no_value_could_be_checked_by_are_refused() {
    let error = Schema::from_document(unions_within_unions(24, 6)).unwrap_err();
    let [problem] = error.problems() else {
        panic!("{error}")
    };
    assert!(problem.pointer.starts_with("/$defs/d"), "{problem:?}");
    assert!(
        problem.message.contains("unions within unions"),
        "{problem:?}"
    );

    // What people write is far from it.
    let schema = Schema::from_document(unions_within_unions(4, 8)).unwrap();
    let mut value = json!("wrong");
    for _ in 0..4 {
        value = json!({ "x": value });
    }
    assert!(schema.check(json!({ "n": value })).is_err());
}

#[test]
fn a_union_that_refers_to_itself_is_no_such_thing() {
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
