//! Drafts, roots, and documents that cannot be taken.

use serde_json::{Value, json};

use super::{DRAFT_4, DRAFT_7, DRAFT_2019, build, property, property_in, refusal};
use crate::{Schema, SchemaOptions};

#[test]
fn other_drafts_are_published_in_a_supported_one() {
    let (published, listed) = property_in(
        DRAFT_2019,
        json!({ "items": [{ "type": "string" }], "additionalItems": false }),
    );
    assert_eq!(
        published,
        json!({ "prefixItems": [{ "type": "string" }], "items": false })
    );
    assert_eq!(listed, []);
    let (_, listed) = property_in(
        DRAFT_4,
        json!({ "const": 1, "if": {}, "id": "#x", "exclusiveMinimum": 3 }),
    );
    let kinds: Vec<_> = listed.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(
        kinds,
        ["other_draft", "other_draft", "annotation", "malformed"]
    );
    let schema = build(json!({ "$schema": DRAFT_4, "type": "object" })).unwrap();
    assert_eq!(schema.document()["$schema"], DRAFT_7);
}

#[test]
fn root_is_an_object() {
    let published = |document: Value| build(document).unwrap().document().clone();
    assert_eq!(published(json!({})), json!({ "type": "object" }));
    assert_eq!(
        published(json!({ "type": ["object", "null"] })),
        json!({ "type": "object" })
    );
    for odd in [json!(true), json!(null), json!([]), json!("object")] {
        assert!(refusal(odd).contains("the root must be an object schema"));
    }
    let refused = refusal(json!({ "type": "string" }));
    assert_eq!(
        refused,
        "/type: the root's `type` must be \"object\" (got \"string\")"
    );
}

#[test]
fn any_root_can_describe_any_value() {
    let build = |document: Value| {
        let options = SchemaOptions::foreign().any_root();
        options.document(document).unwrap()
    };
    let numbers = build(json!({ "type": "array", "items": { "type": "integer" } }));
    assert!(numbers.accepts(&json!([1])) && !numbers.accepts(&json!(["a"])));
    assert!(!numbers.accepts(&json!({})));
    let untyped = build(json!({ "maxLength": 1 }));
    assert_eq!(untyped.document(), &json!({ "maxLength": 1 }));
    assert!(untyped.accepts(&json!("a")) && untyped.accepts(&json!([])));
    let nullable = build(json!({ "type": ["object", "null"] }));
    assert!(nullable.accepts(&Value::Null));
    let next_to_ref = json!({ "$schema": DRAFT_7, "type": "object", "$ref": "#/definitions/a", "definitions": { "a": { "type": "array" } } });
    assert!(build(next_to_ref).accepts(&json!([])));
}

#[test]
fn what_cannot_be_taken_is_refused_with_the_reason() {
    for (document, reason) in [
        (
            json!({ "properties": { "x": { "$ref": "https://example.org/s" } } }),
            "does not resolve within this document",
        ),
        (
            json!({ "properties": { "x": { "$ref": "#/$defs/none" } } }),
            "does not resolve within this document",
        ),
        (
            json!({ "properties": { "x": { "$ref": "#/title" } }, "title": "No schema." }),
            "does not resolve within this document",
        ),
        (
            json!({ "properties": { "x": { "$ref": "#/properties/x" } } }),
            "refers to itself",
        ),
        (
            json!({ "$schema": "https://example.org/dialect" }),
            "is not a draft of JSON Schema",
        ),
        (
            json!({ "description": "x".repeat(super::super::MAX_BYTES) }),
            "bytes (maximum: 1048576)",
        ),
        (
            (0..200).fold(
                json!({}),
                |inner, _| json!({ "properties": { "x": inner } }),
            ),
            "levels (maximum: 128)",
        ),
    ] {
        let refused = refusal(document);
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn draft_must_not_change_within_a_document() {
    let (published, listed) = property(json!({ "$schema": DRAFT_4, "type": "string" }));
    assert_eq!(published["type"], "string");
    assert_eq!(listed, [("/$schema".to_owned(), "other_draft")]);
    let (published, listed) = property_in(DRAFT_4, json!({ "$schema": DRAFT_4 }));
    assert_eq!((published, listed), (json!({}), vec![]));
}

#[test]
fn hostile_documents_are_read_in_reasonable_time() {
    let many: serde_json::Map<String, Value> = (0..5_000)
        .map(|index| (format!("k{index}"), json!(1)))
        .collect();
    let schema = build(Value::Object(many)).unwrap();
    assert_eq!(schema.unenforced().len(), 5_000);
    let description = schema.document()["description"].as_str().unwrap();
    assert!(description.len() < 1_000, "{}", description.len());
    let chain: serde_json::Map<String, Value> = (0..1_000)
        .map(|index| {
            let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
            (
                format!("d{index}"),
                json!({ "properties": { "n": { "not": next } } }),
            )
        })
        .chain([("d1000".to_owned(), json!({ "format": "json" }))])
        .collect();
    let schema = build(json!({ "$ref": "#/$defs/d0", "$defs": chain })).unwrap();
    assert_eq!(
        schema.document()["$defs"]["d0"]["properties"]["n"].get("not"),
        None
    );
}

#[test]
fn memory_for_patterns_is_limited() {
    let named: serde_json::Map<String, Value> = (0..12)
        .map(|index| {
            (
                format!("p{index}"),
                json!({ "pattern": format!("^(a{{500}}){{{}}}$", 100 + index) }),
            )
        })
        .collect();
    let schema = build(json!({ "properties": named })).unwrap();
    let refused = schema.unenforced();
    assert_eq!(refused.len(), 6);
    assert!(
        refused[0].reason.contains("too much memory"),
        "{}",
        refused[0]
    );
}

#[test]
fn patterns_that_are_too_large_use_up_what_all_may_take() {
    let pattern = |index: usize| {
        let pattern = if index < 20 {
            format!("^(a{{1,1000}}){{1,{}}}$", 900 + index)
        } else {
            "^a$".to_owned()
        };
        (format!("p{index}"), json!({ "pattern": pattern }))
    };
    let named: serde_json::Map<String, Value> = (0..21).map(pattern).collect();
    let schema = build(json!({ "properties": named })).unwrap();
    let refused = schema.unenforced();
    assert_eq!(refused.len(), 21);
    let is_last = |reason: &str| reason.contains("too much memory");
    assert!(!is_last(&refused[0].reason), "{}", refused[0]);
    assert!(is_last(&refused[20].reason), "{}", refused[20]);
}

#[test]
fn validators_are_compiled_at_the_first_check() {
    let document = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let foreign = build(document.clone()).unwrap();
    assert!(!foreign.contract.is_compiled());
    assert!(foreign.check(r#"{"n": "x"}"#).is_err());
    assert!(foreign.contract.is_compiled());
    assert!(foreign.check(r#"{"n": 1}"#).is_ok());

    // A program's own tools are few, and their first call should not be slower.
    let own = Schema::from_document(document).unwrap();
    assert!(own.contract.is_compiled());
}

#[test]
fn validators_that_need_a_large_stack_stay_compiled() {
    let mut node = json!({ "type": "integer" });
    for _ in 0..30 {
        node = json!({ "type": "object", "properties": { "p": node } });
    }
    let same = json!({ "$ref": "#/$defs/node" });
    let properties: serde_json::Map<_, _> = (0..10)
        .map(|number| (format!("p{number}"), same.clone()))
        .collect();
    let document = json!({ "type": "object", "properties": properties, "$defs": { "node": node } });
    assert!(build(document).unwrap().contract.is_compiled());
}
