//! Checking arguments.

use serde_json::{Value, json};

use super::{fault, of};
use crate::{RepairKind, Schema};
use crate::{integer, string};

#[test]
fn invalid_json_is_explained() {
    let schema = of(json!({}));
    for (text, words) in [
        ("", "no arguments were sent; send {} if there are none"),
        ("   ", "send {}"),
        ("{\"a\": ", "ends too early"),
        ("{'a': 1}", "key must be a string"),
        ("city=Paris", "must be one JSON object"),
        ("{} {}", "trailing characters"),
        ("{\"a\": 1e999}", "number out of range"),
        ("{\"a\": \"\\ud800\"}", ""),
    ] {
        let error = schema.check(text).unwrap_err();
        assert_eq!(fault(&error), ("", "json"), "{text}");
        assert!(
            error.model_text(None).contains(words),
            "{text}: {}",
            error.model_text(None)
        );
    }
    for (text, got) in [
        ("[]", "[]"),
        ("5", "5"),
        ("null", "null"),
        ("true", "true"),
        ("\"x\"", "\"x\""),
    ] {
        let error = schema.check(text).unwrap_err();
        assert_eq!(fault(&error), ("", "type"), "{text}");
        assert_eq!(error.faults()[0].got, got);
    }
}

#[test]
fn repeated_keys_are_reported_at_every_level_with_the_other_faults() {
    let schema = of(json!({ "a": { "type": "object" }, "n": { "type": "integer" } }));
    let error = schema
        .check(r#"{"a": {"b": [{"c": 1, "c": 2}], "b": 1}, "a": {"x/y": 1, "x/y": 1}, "n": "x"}"#)
        .unwrap_err();
    let found: Vec<(&str, &str)> = error
        .faults()
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.rule.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("/a/b/0/c", "unique_keys"),
            ("/a/b", "unique_keys"),
            ("/a/x~1y", "unique_keys"),
            ("/a", "unique_keys"),
            ("/n", "type")
        ]
    );
    // Also for JSON inside a string.
    let error = schema
        .check(json!({ "a": "{\"k\": 1, \"k\": 1}" }))
        .unwrap_err();
    assert_eq!(fault(&error), ("/a/k", "unique_keys"));
}

#[test]
fn twenty_faults_are_listed_and_the_rest_counted() {
    let schema = of(json!({ "v": { "items": { "type": "string" } } }));
    let error = schema.check(json!({ "v": vec![1; 33] })).unwrap_err();
    assert_eq!(error.faults().len(), 20);
    assert_eq!(error.more_faults(), 13);
    assert_eq!(error.faults()[19].pointer, "/v/19");
    assert!(
        error.model_text(None).ends_with("- and 13 more"),
        "{}",
        error.model_text(None)
    );
}

#[test]
fn received_values_are_shortened_and_escaped_in_messages() {
    let schema = of(json!({ "v": { "type": "integer" } }));
    let error = schema
        .check(json!({ "v": format!("\u{202e}\u{7}\n{}", "x".repeat(1000)) }))
        .unwrap_err();
    let got = &error.faults()[0].got;
    assert!(got.chars().count() < 110, "{got}");
    assert!(
        got.contains("\\u{202e}") && got.contains("\\u0007") && got.contains("\\n"),
        "{got}"
    );
    assert!(!got.chars().any(|c| c.is_control() || c == '\u{202e}'));
    // The same for property names.
    let closed = Schema::object().build().unwrap();
    let error = closed.check(json!({ "a\u{202e}\nb": 1 })).unwrap_err();
    assert!(
        !error
            .model_text(None)
            .lines()
            .nth(1)
            .unwrap()
            .contains('\u{202e}')
    );
    assert_eq!(error.model_text(None).lines().count(), 2);
}

#[test]
fn missing_and_unexpected_properties_are_reported_at_their_own_pointer() {
    let schema = Schema::object()
        .field("city", string().required())
        .field("units", string().default("c"))
        .build()
        .unwrap();
    let error = schema.check(json!({ "unit": "c" })).unwrap_err();
    let mut found: Vec<(&str, &str)> = error
        .faults()
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.message.as_str()))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("/city", "is required but missing"),
            ("/unit", "is not a known property: did you mean `units`?")
        ]
    );
}

#[test]
fn every_property_of_a_closed_empty_object_is_unexpected() {
    let schema = of(json!({ "v": { "type": "object", "additionalProperties": false } }));
    let error = schema
        .check(json!({ "v": { "a": 1, "b": 2 } }))
        .unwrap_err();
    let found: Vec<(&str, &str)> = error
        .faults()
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.got.as_str()))
        .collect();
    assert_eq!(found, [("/v/a", "1"), ("/v/b", "2")]);
    let root = Schema::object().build().unwrap();
    assert_eq!(
        fault(&root.check(json!({ "q": 1 })).unwrap_err()),
        ("/q", "additionalProperties")
    );
}

#[test]
fn null_is_not_absent_if_another_subschema_requires_the_property() {
    let named = json!({ "properties": { "a": { "type": "integer", "default": 3 } } });
    for parts in [
        json!({ "required": ["a"], "allOf": [named] }),
        json!({ "properties": named["properties"], "allOf": [{ "required": ["a"] }] }),
        json!({ "required": ["a"], "anyOf": [named] }),
        json!({ "required": ["a"], "$ref": "#/$defs/named", "$defs": { "named": named } }),
    ] {
        let mut document = parts;
        document["type"] = json!("object");
        let schema = Schema::from_document(document.clone()).unwrap();
        assert!(schema.check(json!({ "a": null })).is_err(), "{document}");
        assert_eq!(
            schema.check(json!({ "a": 1 })).unwrap().value(),
            &json!({ "a": 1 })
        );
    }
}

#[test]
fn defaults_that_trigger_one_another_are_all_filled() {
    // Listed from last to first, so that each round triggers only one more.
    let wakes = |from: usize| {
        let mut properties = serde_json::Map::new();
        properties.insert(format!("p{}", from + 1), json!({ "default": from }));
        json!({ "anyOf": [{ "required": [format!("p{from}")], "properties": properties }, {}] })
    };
    let mut parts: Vec<Value> = (0..14).rev().map(wakes).collect();
    parts.push(json!({ "properties": { "p0": { "default": 0 } } }));
    let schema = Schema::from_document(json!({ "type": "object", "allOf": parts })).unwrap();
    let checked = schema.check(json!({})).unwrap();
    assert_eq!(checked.value().as_object().unwrap().len(), 15);
    assert!(
        schema
            .check(checked.into_value())
            .unwrap()
            .repairs()
            .is_empty()
    );
}

#[test]
fn faults_of_the_only_matching_branch_are_reported_at_their_own_pointers() {
    let range = json!({
        "type": "object", "properties": { "from": { "type": "string" }, "days": { "maximum": 14 } }, "required": ["from"],
    });
    let union = |keyword: &str, branches: Value| of(json!({ "v": { keyword: branches } }));
    for keyword in ["anyOf", "oneOf"] {
        let schema = union(keyword, json!([range, { "type": "null" }]));
        let error = schema.check(json!({ "v": { "days": 99 } })).unwrap_err();
        let places: Vec<_> = error
            .faults()
            .iter()
            .map(|item| item.pointer.as_str())
            .collect();
        assert_eq!(places, ["/v/from", "/v/days"], "{error}");
        // No branch has this type: the only branch besides `null` is meant.
        let error = schema.check(json!({ "v": [1] })).unwrap_err();
        assert_eq!(fault(&error), ("/v", "type"));
        // Also for a union in a union, and next to another type.
        let schema = union(
            keyword,
            json!([{ keyword: [range, { "type": "null" }] }, { "type": "string" }]),
        );
        let error = schema
            .check(json!({ "v": { "from": "a", "days": 99 } }))
            .unwrap_err();
        assert_eq!(fault(&error), ("/v/days", "maximum"));
        // Where two branches can be meant, the union is reported.
        let schema = union(
            keyword,
            json!([range, { "type": "object", "required": ["x"] }, { "type": "null" }]),
        );
        let error = schema.check(json!({ "v": { "days": 99 } })).unwrap_err();
        assert_eq!(fault(&error), ("/v", keyword));
    }
}

#[test]
fn union_reports_its_closest_branch() {
    let schema = of(json!({ "v": { "anyOf": [
        { "type": "integer" },
        { "type": "object", "properties": { "kind": { "const": "a" }, "n": { "type": "integer" } }, "required": ["kind", "n"] },
        { "type": "object", "properties": { "kind": { "const": "b" }, "s": { "minLength": 3 } }, "required": ["kind", "s"] },
    ] } }));
    let error = schema
        .check(json!({ "v": { "kind": "b", "s": "x" } }))
        .unwrap_err();
    assert_eq!(fault(&error), ("/v", "anyOf"));
    let message = &error.faults()[0].message;
    assert!(
        message.contains("the closest is alternative 3: /s must be at least 3 characters"),
        "{message}"
    );
}

#[test]
fn only_numeric_strings_are_coerced_to_numbers() {
    let schema = of(json!({ "x": { "type": "number" }, "n": { "type": "integer" } }));
    for (text, number) in [
        ("1", json!(1)),
        (" -3.5 ", json!(-3.5)),
        ("+7", json!(7)),
        (".5", json!(0.5)),
        ("5.", json!(5)),
        ("1e3", json!(1000)),
        ("-0", json!(0)),
        ("9007199254740993", json!(9_007_199_254_740_993_u64)),
        ("18446744073709551615", json!(u64::MAX)),
        ("\t1E-2\n", json!(0.01)),
    ] {
        let checked = schema.check(json!({ "x": text })).unwrap();
        assert_eq!(checked.value(), &json!({ "x": number }), "{text:?}");
        assert_eq!(checked.repairs()[0].kind, RepairKind::Number);
    }
    for text in [
        "",
        " ",
        "0x10",
        "1_000",
        "NaN",
        "inf",
        "-Infinity",
        "1e999",
        "1,5",
        "1 2",
        "--1",
        "1e",
        ".",
        "e5",
        "١",
    ] {
        let error = schema.check(json!({ "x": text })).unwrap_err();
        assert_eq!(fault(&error), ("/x", "type"), "{text:?}");
    }
    assert_eq!(
        fault(&schema.check(json!({ "n": "1.5" })).unwrap_err()),
        ("/n", "type")
    );
}

#[test]
fn nothing_else_is_coerced() {
    let schema = of(json!({
        "s": { "type": "string" }, "b": { "type": "boolean" }, "a": { "type": "array" }, "n": { "type": "integer" },
        "either": { "type": ["string", "integer"] },
    }));
    for wrong in [
        json!({ "s": 5 }),
        json!({ "s": true }),
        json!({ "b": 1 }),
        json!({ "b": "yes" }),
        json!({ "a": "x" }),
        json!({ "a": 1 }),
        json!({ "n": true }),
        json!({ "n": 1.5 }),
        json!({ "a": { "0": 1 } }),
    ] {
        assert!(schema.check(wrong.clone()).is_err(), "{wrong}");
    }
    let checked = schema.check(json!({ "either": "5" })).unwrap();
    assert_eq!(checked.value(), &json!({ "either": "5" }));
    assert!(checked.repairs().is_empty());
}

#[test]
fn whole_float_becomes_an_integer_where_only_integers_are_allowed() {
    let schema = of(json!({ "n": { "type": "integer" }, "x": { "type": "number" } }));
    let checked = schema.check(r#"{"n": 7.0, "x": 7.0}"#).unwrap();
    assert_eq!(checked.value().to_string(), r#"{"n":7,"x":7.0}"#);
    assert_eq!(checked.repairs()[0].kind, RepairKind::Integer);
    // Outside 64 bits there is no integer to convert to.
    assert_eq!(
        schema.check(r#"{"n": 1e300}"#).unwrap().value().to_string(),
        r#"{"n":1e+300}"#
    );
    assert_eq!(
        schema
            .check(r#"{"n": 18446744073709551615.0}"#)
            .unwrap()
            .repairs()
            .len(),
        0
    );
    assert_eq!(
        schema.check(r#"{"n": 1e19}"#).unwrap().value().to_string(),
        r#"{"n":10000000000000000000}"#
    );
}

#[test]
fn null_counts_as_absent_only_for_optional_properties() {
    let schema = of(json!({
        "plain": { "type": "integer", "default": 3 }, "nullable": { "type": ["integer", "null"] }, "any": {},
        "choice": { "enum": [1, null] }, "union": { "anyOf": [{ "type": "null" }, { "type": "integer" }] },
    }));
    let raw =
        json!({ "plain": null, "nullable": null, "any": null, "choice": null, "union": null });
    let checked = schema.check(raw).unwrap();
    assert_eq!(
        checked.value(),
        &json!({ "plain": 3, "nullable": null, "any": null, "choice": null, "union": null })
    );
    let kinds: Vec<RepairKind> = checked.repairs().iter().map(|repair| repair.kind).collect();
    assert_eq!(kinds, [RepairKind::NullAsAbsent, RepairKind::Default]);

    let required = Schema::object()
        .field("n", integer().required())
        .build()
        .unwrap();
    assert_eq!(
        fault(&required.check(json!({ "n": null })).unwrap_err()),
        ("/n", "type")
    );
    // An unexpected property is unexpected even if it is `null`.
    assert_eq!(
        required
            .check(json!({ "n": 1, "x": null }))
            .unwrap_err()
            .faults()[0]
            .pointer,
        "/x"
    );
}

#[test]
fn defaults_are_filled_at_every_depth_and_in_defaults() {
    let schema = of(json!({
        "opts": { "type": "object", "default": {}, "properties": { "n": { "default": 1 }, "deep": { "default": {}, "properties": { "m": { "default": 2 } } } } },
        "rows": { "items": { "properties": { "k": { "default": "x" } } } },
    }));
    assert_eq!(
        schema
            .check(json!({ "rows": [{}, { "k": "y" }] }))
            .unwrap()
            .value(),
        &json!({ "rows": [{ "k": "x" }, { "k": "y" }], "opts": { "n": 1, "deep": { "m": 2 } } })
    );
}

#[test]
fn default_that_would_make_a_valid_value_invalid_is_not_filled() {
    let schema = Schema::from_document(json!({
        "type": "object", "maxProperties": 1, "properties": { "a": { "type": "integer" }, "b": { "default": 1 } },
    }))
    .unwrap();
    assert_eq!(
        schema.check(json!({ "a": 1 })).unwrap().value(),
        &json!({ "a": 1 })
    );
    assert_eq!(
        schema.check(json!({ "a": "1" })).unwrap().value(),
        &json!({ "a": 1 })
    );
    assert_eq!(schema.check(json!({})).unwrap().value(), &json!({ "b": 1 }));
}

#[test]
fn only_the_chosen_branch_fills_its_defaults() {
    let schema = of(json!({ "v": { "oneOf": [
        { "properties": { "t": { "const": "a" }, "x": { "type": "integer", "default": 1 } }, "required": ["t"] },
        { "properties": { "t": { "const": "b" }, "y": { "type": "integer", "default": 2 } }, "required": ["t"] },
    ] } }));
    assert_eq!(
        schema.check(json!({ "v": { "t": "b" } })).unwrap().value(),
        &json!({ "v": { "t": "b", "y": 2 } })
    );
    assert_eq!(
        schema
            .check(json!({ "v": { "t": "b", "y": "5" } }))
            .unwrap()
            .value(),
        &json!({ "v": { "t": "b", "y": 5 } })
    );
}

#[test]
fn endless_defaults_are_not_filled_into_a_valid_value() {
    // The default is in one subschema and the schema that it triggers in another, so that only the value reveals it.
    for (document, value) in [
        (
            json!({ "properties": { "n": { "allOf": [{ "$ref": "#" }] } }, "anyOf": [{ "properties": { "n": { "default": {} } } }] }),
            json!({}),
        ),
        (
            json!({ "properties": { "b": { "allOf": [{ "$ref": "#" }, { "properties": { "b": { "default": {} } } }] } } }),
            json!({ "b": {} }),
        ),
    ] {
        let mut document = document;
        document["type"] = json!("object");
        let schema = Schema::from_document(document).unwrap();
        let checked = schema.check(value.clone()).unwrap();
        assert_eq!(checked.value(), &value);
        assert!(checked.repairs().is_empty());
    }
}

#[test]
fn value_that_is_valid_only_without_defaults_is_stable() {
    let schema = Schema::from_document(json!({ "type": "object", "oneOf": [
        { "properties": { "k": { "type": "object", "properties": { "k": { "default": {} } }, "required": ["k"] } } },
        { "properties": { "k": { "type": "object", "properties": { "m": { "default": "x" } } } } },
    ] }))
    .unwrap();
    let checked = schema.check(json!({ "k": "{}" })).unwrap();
    let again = schema.check(checked.value().clone()).unwrap();
    assert_eq!((checked.value(), again.repairs().len()), (again.value(), 0));
}

#[tokio::test]
async fn all_external_checks_run_after_the_schema_accepts() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let schema = Schema::object()
        .field("n", integer().required())
        .build()
        .unwrap()
        .external("small", move |args| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                if args["n"].as_i64() < Some(10) {
                    Ok(())
                } else {
                    Err(crate::Rejection::at("/n", "is too large"))
                }
            }
        })
        .external("reachable", |args| async move {
            if args["n"] == 99 {
                Err(std::io::Error::other("secret host is down"))?;
            }
            Ok(())
        })
        .external("steady", |args| async move {
            assert!(args["n"] != 100, "boom");
            Ok(())
        });
    assert!(schema.check_all(json!({ "n": "x" })).await.is_err());
    assert_eq!(
        asked.load(Ordering::Relaxed),
        0,
        "ran although the schema rejected the arguments"
    );
    assert_eq!(
        schema.check_all(json!({ "n": "7" })).await.unwrap().value(),
        &json!({ "n": 7 })
    );

    let error = schema.check_all(json!({ "n": 99 })).await.unwrap_err();
    let rules: Vec<&str> = error
        .faults()
        .iter()
        .map(|fault| fault.rule.as_str())
        .collect();
    assert_eq!(rules, ["small", "reachable"]);
    assert!(
        error.to_string().contains("secret host"),
        "the operator text has the reason"
    );
    assert!(
        !error.model_text(None).contains("secret host"),
        "the model text does not have the reason"
    );
    assert_eq!(
        schema
            .check_all(json!({ "n": 100 }))
            .await
            .unwrap_err()
            .faults()[1]
            .rule,
        "steady"
    );
}
