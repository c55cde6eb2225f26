//! Leaving something out never makes a document stricter.

use serde_json::json;

use super::{DRAFT_7, build, listed, property};

#[test]
fn keywords_that_could_reject_more_are_dropped() {
    let look_around = json!({ "pattern": "^(?!a)" });
    let cases = [
        (json!({ "not": look_around }), "/not"),
        (json!({ "not": { "not": look_around } }), "/not"),
        (
            json!({ "not": { "properties": { "a": { "items": look_around } } } }),
            "/not",
        ),
        (json!({ "contains": look_around }), "/contains"),
        (
            json!({ "dependentSchemas": { "a": look_around } }),
            "/dependentSchemas",
        ),
        (json!({ "if": look_around }), "/if"),
    ];
    for (original, pointer) in cases {
        let (published, listed) = property(original.clone());
        assert_eq!(
            listed,
            [(pointer.to_owned(), "dependent")],
            "only the outermost is listed: {original}"
        );
        assert_eq!(
            published.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["description"]
        );
    }
    let (published, listed) = property(json!({
        "contains": look_around, "maxContains": 2,
        "if": { "minLength": 3 }, "then": look_around,
    }));
    assert_eq!(published["if"], json!({ "minLength": 3 }));
    assert_eq!(published.get("maxContains"), None);
    let pointers: Vec<_> = listed.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(pointers, ["/contains", "/maxContains", "/then/pattern"]);
}

#[test]
fn alternatives_that_could_match_twice_become_any_of() {
    let branches = json!([{ "type": "string", "pattern": "^(?!a)" }, { "const": "b" }]);
    let weaker = json!([
        { "type": "string", "description": "Pattern: `^(?!a)`." },
        { "const": "b" },
    ]);
    let (published, listed) = property(json!({ "oneOf": branches }));
    assert_eq!(published["anyOf"], weaker);
    assert_eq!(published.get("oneOf"), None);
    assert_eq!(
        listed,
        [
            ("/oneOf".to_owned(), "dependent"),
            ("/oneOf/0/pattern".to_owned(), "pattern")
        ]
    );
    let (published, _) = property(json!({ "anyOf": [true], "oneOf": branches }));
    assert_eq!(published["anyOf"], json!([true]));
    assert_eq!(published["allOf"], json!([{ "anyOf": weaker }]));
    // Annotations leave the alternatives as they are.
    let exact = json!({ "oneOf": [{ "type": "string", "example": "a" }, { "type": "null" }] });
    let (published, _) = property(exact);
    assert_eq!(
        published,
        json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] })
    );
}

#[test]
fn definition_that_is_used_both_ways_is_widened_once_and_not_negated() {
    let schema = build(json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/s" }, "b": { "not": { "$ref": "#/$defs/s" } } },
        "$defs": { "s": { "type": "string", "pattern": "^(?!a)" } },
    }))
    .unwrap();
    let published = schema.document();
    assert_eq!(published["properties"]["a"], json!({ "$ref": "#/$defs/s" }));
    assert_eq!(published["properties"]["b"].get("not"), None);
    assert_eq!(published["$defs"]["s"].get("pattern"), None);
    assert!(schema.accepts(&json!({ "a": "any", "b": "any" })));
    assert!(!schema.accepts(&json!({ "a": 1 })));
}

#[test]
fn closed_objects_are_opened_if_their_names_are_not_all_known() {
    let (published, listed) = property(json!({
        "properties": { "a": true }, "patternProperties": { "^(?!b)": {}, "^c": {} }, "additionalProperties": false,
    }));
    assert_eq!(published["patternProperties"], json!({ "^c": {} }));
    assert_eq!(published.get("additionalProperties"), None);
    assert_eq!(
        listed,
        [
            ("/patternProperties/^(?!b)".to_owned(), "pattern"),
            ("/additionalProperties".to_owned(), "dependent")
        ]
    );
    let (published, listed) = property(json!({
        "allOf": [{ "if": { "properties": { "a": { "format": "json" } } } }], "unevaluatedProperties": false,
    }));
    assert_eq!(published.get("unevaluatedProperties"), None);
    assert_eq!(listed.len(), 2, "{listed:?}");
    // An assertion below a property evaluates nothing.
    let (published, _) = property(json!({
        "properties": { "a": { "format": "json" } }, "unevaluatedProperties": false,
    }));
    assert_eq!(published["unevaluatedProperties"], false);
    // No properties at all, as Go writes it.
    let (published, _) = property(json!({ "properties": null, "additionalProperties": false }));
    assert_eq!(published, json!({ "additionalProperties": false }));
}

#[test]
fn targets_inside_of_what_is_dropped_are_moved() {
    let schema = build(json!({
        "type": "object",
        "properties": {
            "a": { "not": { "items": { "type": "string", "format": "json" } } },
            "b": { "$ref": "#/properties/a/not/items" },
            "c": { "$ref": "#/components/schemas/C" },
            "d": { "oneOf": [{ "type": "integer" }, { "format": "json" }] },
            "e": { "$ref": "#/properties/d/oneOf/0" },
        },
        "components": { "schemas": { "C": { "properties": { "next": { "$ref": "#/components/schemas/C" } } } } },
    }))
    .unwrap();
    assert!(schema.accepts(&json!({ "b": "x", "c": { "next": {} }, "e": 1 })));
    assert!(!schema.accepts(&json!({ "b": 1 })));
    assert!(!schema.accepts(&json!({ "e": "x" })));
    let published = schema.document();
    assert_eq!(published.get("components"), None);
    assert_eq!(
        published["properties"]["e"],
        json!({ "$ref": "#/properties/d/anyOf/0" })
    );
    assert_eq!(published["$defs"].as_object().unwrap().len(), 2);
}

#[test]
fn keywords_next_to_a_reference_are_dropped_in_draft_7() {
    let document = json!({
        "$schema": DRAFT_7, "$ref": "#/definitions/A", "additionalProperties": false,
        "definitions": { "A": { "type": "object", "properties": { "n": { "$ref": "#/definitions/N", "minimum": 3 } } }, "N": { "type": "integer" } },
    });
    let schema = build(document).unwrap();
    assert_eq!(schema.document()["type"], "object");
    assert_eq!(
        schema.document()["allOf"],
        json!([{ "$ref": "#/definitions/A" }])
    );
    assert!(schema.accepts(&json!({ "n": 1, "other": true })));
    assert!(!schema.accepts(&json!({ "n": "x" })));
    assert_eq!(
        listed(&schema),
        [
            ("/additionalProperties".to_owned(), "next_to_ref"),
            (
                "/definitions/A/properties/n/minimum".to_owned(),
                "next_to_ref"
            )
        ]
    );
}

#[test]
fn closed_objects_stay_closed_if_nothing_that_evaluates_is_dropped() {
    let (published, _) = property(json!({
        "not": { "format": "json" }, "foo": 1, "unevaluatedProperties": false,
    }));
    assert_eq!(published["unevaluatedProperties"], false);
}
