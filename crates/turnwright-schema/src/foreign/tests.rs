//! What is published and what is listed, keyword by keyword.

use serde_json::{Value, json};

use crate::{Schema, SchemaError, SchemaOptions};

fn build(document: Value) -> Result<Schema, SchemaError> {
    SchemaOptions::foreign()
        .fill_defaults(false)
        .document(document)
}

/// Builds a document with one property `x`. Returns what is published for it, and what is listed.
fn property(schema: Value) -> (Value, Vec<(String, &'static str)>) {
    property_in("https://json-schema.org/draft/2020-12/schema", schema)
}

#[expect(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
fn property_in(draft: &str, schema: Value) -> (Value, Vec<(String, &'static str)>) {
    let document = json!({ "$schema": draft, "type": "object", "properties": { "x": schema } });
    let schema = build(document).unwrap();
    let published = schema.document()["properties"]["x"].clone();
    (published, listed(&schema))
}

fn listed(schema: &Schema) -> Vec<(String, &'static str)> {
    let entries = schema.unenforced().iter();
    entries
        .map(|entry| {
            let pointer = entry.pointer.strip_prefix("/properties/x");
            let pointer = pointer.unwrap_or(&entry.pointer);
            (pointer.to_owned(), entry.kind.as_str())
        })
        .collect()
}

fn refusal(document: Value) -> String {
    build(document).unwrap_err().to_string()
}

const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";

#[test]
fn what_is_not_enforced_is_listed_and_described() {
    let cases = [
        (
            json!({ "type": "string", "format": "json", "description": "Own." }),
            json!({ "type": "string", "description": "Own.\nFormat: `json`." }),
            ("/format", "format"),
        ),
        (
            json!({ "pattern": "^(?!a)" }),
            json!({ "description": "Pattern: `^(?!a)`." }),
            ("/pattern", "pattern"),
        ),
        (
            json!({ "minLenght": 3 }),
            json!({ "description": "May also apply: `minLenght`: 3" }),
            ("/minLenght", "unknown_keyword"),
        ),
        (
            json!({ "type": "string", "nullable": true }),
            json!({ "type": ["string", "null"], "description": "`null` is allowed." }),
            ("/nullable", "nullable"),
        ),
        (
            json!({ "discriminator": { "propertyName": "kind" } }),
            json!({ "description": "`kind` selects the alternative." }),
            ("/discriminator", "discriminator"),
        ),
        (
            json!({ "type": "string", "default": null }),
            json!({ "type": "string" }),
            ("/default", "default"),
        ),
        (
            json!({ "type": "string", "example": "a" }),
            json!({ "type": "string" }),
            ("/example", "annotation"),
        ),
        (
            json!({ "then": { "type": "string" } }),
            json!({}),
            ("/then", "no_effect"),
        ),
        (
            json!({ "dependencies": { "a": ["b"] } }),
            json!({ "description": "May also apply: `dependencies`: {\"a\":[\"b\"]}" }),
            ("/dependencies", "other_draft"),
        ),
        (
            json!({ "type": "str" }),
            json!({ "description": "May also apply: `type`: \"str\"" }),
            ("/type", "malformed"),
        ),
        (
            json!({ "required": null }),
            json!({}),
            ("/required", "malformed"),
        ),
    ];
    for (original, published, (pointer, kind)) in cases {
        let (seen, listed) = property(original.clone());
        assert_eq!(seen, published, "{original}");
        assert_eq!(listed, [(pointer.to_owned(), kind)], "{original}");
    }
}

#[test]
fn numeric_formats_become_bounds() {
    for draft in [DRAFT_7, "https://json-schema.org/draft/2020-12/schema"] {
        let (published, listed) = property_in(
            draft,
            json!({ "type": "integer", "format": "uint8", "minimum": 3 }),
        );
        let expected = json!({ "type": "integer", "minimum": 3, "maximum": 255 });
        assert_eq!((published, listed), (expected, vec![]));
    }
    let (published, listed) = property(json!({ "type": ["number", "null"], "format": "float" }));
    assert_eq!(published["maximum"], f64::from(f32::MAX));
    assert_eq!(listed, []);
    // A number as a string, as protocol buffers write it.
    let (published, listed) = property(json!({ "type": "string", "format": "int64" }));
    assert_eq!(
        published,
        json!({ "type": "string", "description": "Format: `int64`." })
    );
    assert_eq!(listed, [("/format".to_owned(), "format")]);
    let (published, listed) = property(json!({ "type": ["string", "integer"], "format": "int8" }));
    assert_eq!(published["maximum"], 127);
    assert_eq!(listed, [("/format".to_owned(), "format")]);
}

#[test]
fn exclusive_bounds_of_openapi_are_translated() {
    let original =
        json!({ "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false });
    let expected = json!({ "exclusiveMinimum": 0, "maximum": 9 });
    for draft in [DRAFT_4, DRAFT_7] {
        let (published, listed) = property_in(draft, original.clone());
        assert_eq!((published, listed), (expected.clone(), vec![]));
    }
}

#[test]
fn formats_of_draft_2020_12_are_enforced_in_draft_7() {
    for (format, right, wrong) in [
        ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810"),
        ("duration", "PT5M", "5 minutes"),
    ] {
        let document = json!({
            "$schema": DRAFT_7, "type": "object", "properties": { "x": { "format": format } },
        });
        let schema = build(document).unwrap();
        assert_eq!(listed(&schema), []);
        assert!(schema.accepts(&json!({ "x": right })), "{format}");
        assert!(!schema.accepts(&json!({ "x": wrong })), "{format}");
    }
}

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
            json!({ "description": "x".repeat(super::MAX_BYTES) }),
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
fn nullable_has_an_effect_only_with_a_type() {
    let schema = build(json!({
        "type": "object", "nullable": true,
        "properties": { "a": { "$ref": "#/$defs/A", "nullable": true }, "b": { "type": ["string"], "nullable": true } },
        "$defs": { "A": { "type": "string" } },
    }))
    .unwrap();
    let published = schema.document();
    assert_eq!(published["type"], "object");
    assert_eq!(published["properties"]["a"], json!({ "$ref": "#/$defs/A" }));
    assert_eq!(
        published["properties"]["b"]["type"],
        json!(["string", "null"])
    );
    assert_eq!(schema.unenforced().len(), 3);
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
fn closed_objects_stay_closed_if_nothing_that_evaluates_is_dropped() {
    let (published, _) = property(json!({
        "not": { "format": "json" }, "foo": 1, "unevaluatedProperties": false,
    }));
    assert_eq!(published["unevaluatedProperties"], false);
}

#[test]
fn values_that_are_no_schemas_accept_everything() {
    let schema = build(json!({
        "properties": { "x": "string", "y": null }, "additionalProperties": false,
    }))
    .unwrap();
    assert!(schema.accepts(&json!({ "x": 1, "y": 2 })));
    assert!(!schema.accepts(&json!({ "z": 1 })));
    assert_eq!(schema.unenforced().len(), 2);
}

#[test]
fn declared_annotations_are_kept() {
    let document = json!({ "properties": { "x": { "foo": 1, "format": "json" } } });
    let schema = SchemaOptions::foreign()
        .annotation("foo")
        .annotation_format("json")
        .document(document)
        .unwrap();
    assert_eq!(
        schema.document()["properties"]["x"],
        json!({ "foo": 1, "format": "json" })
    );
    assert_eq!(schema.unenforced(), []);
}

#[test]
fn defaults_are_filled_only_on_request() {
    let document = json!({ "properties": {
        "a": { "type": "string", "default": "cm" }, "b": { "type": "integer", "default": "10" },
    } });
    let schema = build(document.clone()).unwrap();
    assert_eq!(schema.document()["properties"]["a"]["default"], "cm");
    let checked = schema.check(r#"{"b": "7"}"#).unwrap();
    assert_eq!(checked.value(), &json!({ "b": 7 }));
    assert_eq!(checked.repairs().len(), 1);
    let schema = SchemaOptions::foreign().document(document).unwrap();
    assert_eq!(schema.check("{}").unwrap().value(), &json!({ "a": "cm" }));
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
