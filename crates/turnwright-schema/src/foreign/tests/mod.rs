//! What is published and what is listed, keyword by keyword.

mod limits;
mod widening;

use serde_json::{Value, json};

use crate::{Schema, SchemaError, SchemaOptions, UnenforcedKind};

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

/// Returns the serialised name.
fn name_of(kind: UnenforcedKind) -> &'static str {
    let name = serde_json::to_value(kind).unwrap();
    name.as_str().unwrap().to_owned().leak()
}

fn listed(schema: &Schema) -> Vec<(String, &'static str)> {
    let entries = schema.unenforced().iter();
    entries
        .map(|entry| {
            let pointer = entry.pointer.strip_prefix("/properties/x");
            let pointer = pointer.unwrap_or(&entry.pointer);
            (pointer.to_owned(), name_of(entry.kind))
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
