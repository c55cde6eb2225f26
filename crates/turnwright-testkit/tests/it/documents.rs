//! Tools made from documents and by the builder.

use serde_json::{Value, json};
use turnwright_core::Tool;
use turnwright_core::schema::{array, integer, map, object, string};
use turnwright_testkit::contract::{Fuzz, fuzz};

use crate::{assert_served, never, tool};

fn closed(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

#[test]
fn bounds_lengths_and_enums_are_covered_on_both_sides() {
    let report = fuzz(&tool(closed(
        json!({
            "count": { "type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 3 },
            "share": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
            "half": { "type": "number", "multipleOf": 0.5, "minimum": -100, "maximum": 100 },
            "name": { "type": "string", "minLength": 2, "maxLength": 5 },
            "unit": { "enum": ["m", "km", 7, null] },
            "op": { "const": "add" },
            "big": { "type": "integer", "minimum": i64::MIN, "maximum": u64::MAX },
            "flag": { "type": ["boolean", "null"] },
        }),
        &["count", "share", "name", "unit"],
    )));
    assert_served(&report, &[]);
    assert!(report.accepted >= 900 && report.broken >= 900, "{report}");
    assert_eq!(report.by_trial, 0, "{report}");
}

#[test]
fn patterns_are_sampled_within_length_bounds() {
    let report = fuzz(&tool(closed(
        json!({
            "code": { "type": "string", "pattern": "^[A-Z]{3}-\\d{2,4}$" },
            "loose": { "type": "string", "pattern": "\\d", "minLength": 4, "maxLength": 9 },
            "word": { "type": "string", "pattern": "^\\w+$", "minLength": 12 },
            "either": { "type": "string", "pattern": "^(GET|POST) /[a-z/]*$" },
            "wide": { "type": "string", "pattern": "^.{2,3}$" },
            "digits": { "type": "string", "pattern": "^[0-9]+$", "maxLength": 6 },
        }),
        &["code"],
    )));
    assert_served(&report, &[]);
    assert_eq!(report.by_trial, 0, "{report}");
}

#[test]
fn every_format_is_covered_on_both_sides() {
    let formats = [
        "date",
        "date-time",
        "time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "json-pointer",
        "relative-json-pointer",
        "regex",
        "uri-template",
    ];
    for format in formats {
        let report = Fuzz::new()
            .cases(300)
            .run(&tool(closed(
                json!({ "v": { "type": "string", "format": format } }),
                &["v"],
            )))
            .unwrap_or_else(|failure| panic!("{format}: {failure}"));
        assert_served(&report, &[]);
        assert_eq!(report.by_trial, 0, "{format}: {report}");
    }
}

#[test]
fn array_keywords_are_covered() {
    let report = fuzz(&tool(closed(
        json!({
            "tags": { "type": "array", "items": { "type": "string", "maxLength": 3 }, "minItems": 1, "maxItems": 4, "uniqueItems": true },
            "pair": { "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }], "items": false, "minItems": 2 },
            "lucky": { "type": "array", "items": { "type": "integer" }, "contains": { "const": 7 }, "minContains": 2, "maxContains": 3 },
            "rest": { "type": "array", "prefixItems": [{ "type": "boolean" }], "unevaluatedItems": { "type": "integer" } },
        }),
        &["tags", "pair"],
    )));
    assert_served(&report, &[]);
}

#[test]
fn object_keywords_are_covered() {
    let report = fuzz(&tool(closed(
        json!({
            "labels": { "type": "object", "additionalProperties": { "type": "number" }, "minProperties": 1, "maxProperties": 3 },
            "headers": { "type": "object", "patternProperties": { "^x-": { "type": "string" }, "^y": false }, "additionalProperties": { "type": "integer" } },
            "named": { "type": "object", "propertyNames": { "pattern": "^[a-z]{1,4}$" }, "additionalProperties": true },
            "card": {
                "type": "object",
                "properties": { "number": { "type": "string" }, "cvc": { "type": "integer" }, "zip": { "type": "integer" } },
                "dependentRequired": { "number": ["cvc"] },
                "dependentSchemas": { "zip": { "required": ["number"] } },
                "additionalProperties": false,
            },
            "open": { "allOf": [{ "type": "object", "properties": { "a": { "type": "integer" } } }], "unevaluatedProperties": false },
        }),
        &[],
    )));
    assert_served(
        &report,
        &["/required", "/properties/named/additionalProperties"],
    );
}

#[test]
fn unions_conditions_and_negations_give_no_false_positives() {
    let report = fuzz(&tool(closed(
        json!({
            "id": { "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": "^[a-z]+$" }] },
            "shape": { "oneOf": [
                closed(json!({ "kind": { "const": "circle" }, "r": { "type": "number", "minimum": 0 } }), &["kind", "r"]),
                closed(json!({ "kind": { "const": "box" }, "w": { "type": "integer" }, "h": { "type": "integer", "default": 1 } }), &["kind", "w"]),
            ] },
            "either": { "oneOf": [{ "type": "integer", "multipleOf": 2 }, { "type": "integer", "multipleOf": 3 }] },
            "port": { "type": "integer", "minimum": 1, "maximum": 9999, "not": { "multipleOf": 10 } },
            "rule": {
                "type": "object",
                "properties": { "kind": { "enum": ["a", "b"] }, "size": { "type": "integer" }, "name": { "type": "string" } },
                "required": ["kind"],
                "if": { "properties": { "kind": { "const": "a" } } },
                "then": { "required": ["size"] },
                "else": { "required": ["name"], "properties": { "name": { "minLength": 2 } } },
            },
            "all": { "allOf": [{ "type": "integer", "minimum": 3 }, { "maximum": 8 }] },
        }),
        &["id"],
    )));
    // What one of these rejects, the other branch accepts or both do: the union decides, and is broken itself.
    let rescued = [
        "/properties/either/oneOf/0/multipleOf",
        "/properties/either/oneOf/1/multipleOf",
    ];
    assert_served(&report, &rescued);
}

#[test]
fn recursive_document_terminates() {
    let report = fuzz(&tool(json!({
        "type": "object",
        "properties": { "root": { "$ref": "#/$defs/node" }, "again": { "$ref": "#leaf" } },
        "required": ["root"],
        "additionalProperties": false,
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "value": { "$ref": "#/$defs/leaf" },
                    "children": { "type": "array", "items": { "$ref": "#/$defs/node" }, "maxItems": 3 },
                    "next": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }] },
                },
                "required": ["value"],
                "additionalProperties": false,
            },
            "leaf": { "$anchor": "leaf", "type": "integer", "minimum": 0 },
        },
    })));
    assert_served(&report, &[]);
}

#[test]
fn long_chains_and_nested_unions_terminate() {
    let mut definitions = serde_json::Map::new();
    for link in 0..50 {
        let next = format!("#/$defs/{}", link + 1);
        definitions.insert(link.to_string(), json!({ "$ref": next }));
    }
    definitions.insert("50".to_owned(), json!({ "type": "integer", "minimum": 1 }));
    let node = json!({ "anyOf": [
        { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" }, "a": { "type": "integer" } } },
        { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" }, "b": { "type": "boolean" } } },
        { "type": "null" },
    ] });
    definitions.insert("node".to_owned(), node);
    let report = Fuzz::new()
        .cases(100)
        .run(&tool(json!({
            "type": "object",
            "properties": { "chain": { "$ref": "#/$defs/0" }, "node": { "$ref": "#/$defs/node" } },
            "required": ["chain"],
            "$defs": definitions,
        })))
        .unwrap();
    assert!(report.accepted == 100 && report.broken > 50, "{report}");
}

#[test]
fn draft_7_follows_its_own_rules() {
    let report = fuzz(&tool(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": { "short": { "$id": "#short", "type": "string", "minLength": 1, "maxLength": 4 } },
        "properties": {
            "a": { "$ref": "#/definitions/short" },
            "b": { "$ref": "#short" },
            "pair": { "type": "array", "items": [{ "type": "integer" }, { "type": "boolean" }], "additionalItems": { "type": "string" }, "minItems": 2 },
            "triple": { "type": "array", "items": [{ "type": "integer" }], "additionalItems": false },
            "card": { "type": "object", "dependencies": { "number": ["cvc"], "zip": { "required": ["number"] } } },
            "even": { "if": { "type": "integer" }, "then": { "multipleOf": 2 }, "else": { "type": "string" } },
            "some": { "type": "array", "contains": { "type": "integer" } },
        },
        "required": ["a"],
        "additionalProperties": false,
    })));
    assert_served(&report, &[]);
}

#[test]
fn repaired_values_give_no_false_positives() {
    let report = fuzz(&tool(json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "default": 10 },
            "opts": {
                "type": "object",
                "properties": { "deep": { "type": "object", "properties": { "x": { "type": "boolean", "default": true } }, "default": {} } },
                "default": {},
            },
            "digits": { "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^[0-9]{3}$" }] },
            "maybe": { "type": ["array", "string"] },
            "list": { "type": "array", "items": { "type": "number" } },
        },
        "required": ["n", "opts"],
        "minProperties": 3,
        "additionalProperties": false,
    })));
    // What these reject is filled in.
    assert_served(&report, &["/required", "/minProperties"]);
}

#[test]
fn ambiguous_fractions_are_counted_by_trial() {
    let report = fuzz(&tool(closed(
        json!({ "price": { "type": "number", "multipleOf": 0.01 } }),
        &["price"],
    )));
    assert_served(&report, &[]);
    assert!(
        report.by_trial > 0 && report.by_trial < report.accepted,
        "{report}"
    );
}

#[test]
fn tool_from_the_builder_passes() {
    let schema = object()
        .field("city", string().min_length(1).max_length(40).required())
        .field("days", integer().min(1).max(14).default(json!(3)))
        .field("tags", array(string()).max_items(5))
        .field("labels", map(integer()));
    let tool = Tool::dynamic("weather", schema)
        .description("The weather.")
        .handler(never)
        .build()
        .unwrap();
    assert_served(&fuzz(&tool), &[]);
}

#[test]
fn same_seed_generates_the_same_values() {
    let tool = tool(closed(
        json!({ "a": { "type": "string" }, "b": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } }),
        &["a"],
    ));
    let run = |seed| {
        Fuzz::new()
            .cases(200)
            .seed(seed)
            .run(&tool)
            .unwrap()
            .to_string()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
    assert!(run(3).contains("seed 3"));
}

#[test]
fn uncovered_keywords_are_reported_with_their_pointer() {
    let report = fuzz(&tool(closed(
        json!({ "odd": { "type": "string", "pattern": "[a&&b]" }, "any": { "minLength": 0 } }),
        &[],
    )));
    let reason = |pointer: &str| {
        report
            .skipped
            .iter()
            .find(|skipped| skipped.pointer == pointer)
            .map(|skipped| skipped.reason.as_str())
    };
    assert_eq!(
        reason("/properties/odd/pattern"),
        Some("the pattern uses a doubled sign inside a class, which engines interpret differently")
    );
    assert_eq!(
        reason("/properties/any/minLength"),
        Some("no value was found that it rejects")
    );
    assert!(report.by_trial > 0, "{report}");
    let text = report.to_string();
    assert!(
        text.contains("not fully covered:\n  ")
            && text.contains("/properties/odd/pattern: no broken values"),
        "{text}"
    );
}
