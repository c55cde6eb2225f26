//! The schema builder.

use serde_json::json;

use crate::Schema;
use crate::{
    all_of, any, any_of, array, boolean, constant, integer, map, null, number, object, one_of,
    string, tuple,
};

#[test]
fn builder_produces_the_expected_document() {
    let schema = Schema::object()
        .field(
            "city",
            string()
                .description("Where.")
                .note("In English.")
                .note("Not a country.")
                .example("Paris")
                .required(),
        )
        .field(
            "units",
            string()
                .one_of_values(["celsius", "fahrenheit"])
                .default("celsius"),
        )
        .field("n", integer().min(1).max(100))
        .field(
            "x",
            number().exclusive_min(0).exclusive_max(1).multiple_of(0.25),
        )
        .field("b", boolean().nullable())
        .field(
            "tags",
            array(string().min_length(1).max_length(9))
                .min_items(1)
                .max_items(3)
                .unique_items(),
        )
        .field("pair", tuple([integer(), string()]))
        .field("labels", map(number()))
        .field(
            "opts",
            object().field("verbose", boolean().default(false)).open(),
        )
        .field("id", any_of([integer(), string().pattern("^[a-z]+$")]))
        .field("one", one_of([null(), constant("x")]))
        .field("both", all_of([string(), any().format("email")]))
        .build()
        .unwrap();
    assert_eq!(
        schema.document(),
        &json!({
            "type": "object", "additionalProperties": false, "required": ["city"],
            "properties": {
                "city": { "type": "string", "examples": ["Paris"], "description": "Where.\nNote: In English.\nNote: Not a country." },
                "units": { "type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius" },
                "n": { "type": "integer", "minimum": 1, "maximum": 100 },
                "x": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25 },
                "b": { "type": ["boolean", "null"] },
                "tags": { "type": "array", "items": { "type": "string", "minLength": 1, "maxLength": 9 }, "minItems": 1, "maxItems": 3, "uniqueItems": true },
                "pair": { "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }], "minItems": 2, "maxItems": 2 },
                "labels": { "type": "object", "additionalProperties": { "type": "number" } },
                "opts": { "type": "object", "additionalProperties": true, "properties": { "verbose": { "type": "boolean", "default": false } } },
                "id": { "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^[a-z]+$" }] },
                "one": { "oneOf": [{ "type": "null" }, { "const": "x" }] },
                "both": { "allOf": [{ "type": "string" }, { "format": "email" }] },
            },
        })
    );
}

#[test]
fn build_reports_mistakes_in_the_builder_calls() {
    let twice = Schema::object()
        .field("a", any())
        .field("a", any())
        .build()
        .unwrap_err();
    assert!(
        twice.to_string().contains("`a` is defined twice"),
        "{twice}"
    );
    let bound = Schema::object()
        .field("a", string().min(1))
        .build()
        .unwrap_err();
    assert_eq!(bound.problems()[0].pointer, "/properties/a/minimum");
    let items = Schema::object()
        .field("a", integer().max_items(1))
        .build()
        .unwrap_err();
    assert_eq!(items.problems()[0].pointer, "/properties/a/maxItems");
    let keyword = Schema::object()
        .field("a", any().keyword("minimun", 1))
        .build()
        .unwrap_err();
    assert!(
        keyword.to_string().contains("did you mean `minimum`?"),
        "{keyword}"
    );
    let nullable = Schema::object()
        .field("a", any_of([integer()]).nullable())
        .build()
        .unwrap_err();
    assert!(
        nullable
            .to_string()
            .contains("add `null()` to the alternatives"),
        "{nullable}"
    );
    assert!(
        string()
            .build()
            .unwrap_err()
            .to_string()
            .contains("must be \"object\"")
    );
    assert!(Schema::object().required().build().is_err());
    let value = Schema::object()
        .field("a", integer().min("x"))
        .build()
        .unwrap_err();
    assert_eq!(value.problems()[0].pointer, "/properties/a/minimum");
}
