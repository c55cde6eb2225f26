use serde_json::{Value, json};

use super::{Budget, Demand, RequestLimits, SchemaLimits, StrictRules, check};

/// Everything that can be restricted is restricted.
const TIGHT: StrictRules = StrictRules {
    supported: None,
    rejected: &[
        ("minimum", "check it in the tool"),
        ("oneOf", "use `anyOf`"),
    ],
    formats: &["date"],
    word_boundaries: false,
    scalar_enums: true,
    references_in_all_of: false,
    max_min_items: Some(1),
    all_required: false,
    allows_recursion: false,
    schema: SchemaLimits {
        properties: 4,
        depth: 2,
        enum_values: 4,
        large_enum: (2, 10),
        characters: 60,
    },
    request: RequestLimits {
        tools: 3,
        optional: 4,
        unions: 2,
    },
};

/// Nothing is restricted.
const OPEN: StrictRules = StrictRules {
    supported: None,
    rejected: &[],
    formats: &["date"],
    word_boundaries: true,
    scalar_enums: false,
    references_in_all_of: true,
    max_min_items: None,
    all_required: false,
    allows_recursion: true,
    schema: SchemaLimits::NONE,
    request: RequestLimits::NONE,
};

#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
fn closed(properties: Value, required: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Returns an object with one property.
#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
fn property(schema: Value) -> Value {
    closed(json!({ "a/b": schema }), json!(["a/b"]))
}

fn error(schema: &Value, rules: &StrictRules) -> String {
    check(schema, rules).unwrap_err()
}

#[test]
fn closed_objects_fit() {
    let inner = closed(
        json!({ "day": { "type": "string", "format": "date" } }),
        json!(["day"]),
    );
    let list = json!({ "type": "array", "items": inner, "minItems": 1 });
    let choice = json!({ "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/Part" }] });
    let mut schema = closed(json!({ "list": list, "choice": choice }), json!(["list"]));
    schema["$defs"] = json!({ "Part": closed(json!({}), json!([])) });
    let demand = Demand {
        optional: 1,
        unions: 1,
    };
    assert_eq!(check(&schema, &TIGHT), Ok(demand));
}

#[test]
fn misfits_are_reported_with_their_pointer_and_advice() {
    let cases = [
        (json!({ "type": "string" }), "`/type`", "type `object`"),
        (json!(true), "`/type`", "type `object`"),
        (
            json!({ "type": "object", "anyOf": [] }),
            "`/anyOf`",
            "into a property",
        ),
        (
            json!({ "type": "object" }),
            "`/additionalProperties`",
            "closed",
        ),
        (
            json!({ "type": "object", "additionalProperties": true }),
            "`/additionalProperties`",
            "deny_unknown_fields",
        ),
        (
            property(json!({ "type": ["object", "null"] })),
            "`/properties/a~1b/additionalProperties`",
            "closed",
        ),
        (
            property(json!({ "anyOf": [{ "type": "object" }] })),
            "`/properties/a~1b/anyOf/0/additionalProperties`",
            "closed",
        ),
        (
            property(json!({ "type": "integer", "minimum": 0 })),
            "`/properties/a~1b/minimum`",
            "check it in the tool",
        ),
        (
            property(json!({ "oneOf": [] })),
            "`/properties/a~1b/oneOf`",
            "use `anyOf`",
        ),
        (
            property(json!({ "anyOf": [{ "minimum": 1 }] })),
            "`/properties/a~1b/anyOf/0/minimum`",
            "check",
        ),
        (
            property(json!({ "type": "string", "format": "color" })),
            "`/properties/a~1b/format`",
            "one of date",
        ),
        (
            property(json!({ "type": "string", "pattern": r"\Bend" })),
            "`/properties/a~1b/pattern`",
            "word boundaries",
        ),
        (
            property(json!({ "enum": [{ "x": 1 }] })),
            "`/properties/a~1b/enum`",
            "use `anyOf`",
        ),
        (
            property(json!({ "type": "array", "minItems": 2 })),
            "`/properties/a~1b/minItems`",
            "at most 1 (got 2)",
        ),
        (
            property(json!({ "type": "array", "items": true })),
            "`/properties/a~1b/items`",
            "give it a `type`",
        ),
        (
            property(json!({ "allOf": [{ "$ref": "#/properties" }] })),
            "`/properties/a~1b/allOf/0/$ref`",
            "copy the definition",
        ),
        (
            property(json!({ "$ref": "#" })),
            "`/properties/a~1b/$ref`",
            "recursive",
        ),
    ];
    for (schema, pointer, advice) in cases {
        let error = error(&schema, &TIGHT);
        assert!(error.contains(pointer) && error.contains(advice), "{error}");
    }
}

#[test]
fn limits_of_a_schema_are_reported_with_their_pointer() {
    let text = || json!({ "type": "string" });
    let five = json!({ "a": text(), "b": text(), "c": text(), "d": text(), "e": text() });
    let deep = (0..3).fold(text(), |inner, _| property(inner));
    let long = "x".repeat(58);
    let values = |values: Value| property(json!({ "enum": values }));
    let mut definitions = property(text());
    definitions["$defs"] = json!({ long.as_str(): text() });
    let cases = [
        (
            closed(five, json!([])),
            "`/properties/e`",
            "can have 4 properties",
        ),
        (
            deep,
            "`/properties/a~1b/properties/a~1b`",
            "nested 2 levels deep",
        ),
        (
            values(json!([1, 2, 3, 4, 5])),
            "`/properties/a~1b/enum`",
            "4 enum values",
        ),
        (
            values(json!(["abcd", "efgh", "ijkl"])),
            "`/properties/a~1b/enum`",
            "can have 10 characters (got 12)",
        ),
        (
            values(json!([long])),
            "`/properties/a~1b/enum`",
            "60 characters",
        ),
        (
            property(json!({ "const": long })),
            "`/properties/a~1b/const`",
            "60 characters",
        ),
        (definitions, "/$defs/xxx", "60 characters"),
    ];
    for (schema, pointer, advice) in cases {
        let error = error(&schema, &TIGHT);
        assert!(error.contains(pointer) && error.contains(advice), "{error}");
        assert!(check(&schema, &OPEN).is_ok(), "{schema}");
    }
    // A list adds no level, and neither do alternatives.
    let list = json!({ "type": "array", "items": { "anyOf": [property(text())] } });
    assert!(check(&property(list), &TIGHT).is_ok());
    // As many as allowed.
    assert!(check(&values(json!(["abcd", "efgh"])), &TIGHT).is_ok());
}

#[test]
fn all_properties_can_be_required() {
    let rules = StrictRules {
        all_required: true,
        ..OPEN
    };
    let optional = closed(json!({ "a": { "type": "string" } }), json!([]));
    let message = error(&optional, &rules);
    assert!(
        message.contains("`/properties/a`") && message.contains("allow `null`"),
        "{message}"
    );
}

#[test]
fn only_supported_keywords_fit_if_they_are_listed() {
    let rules = StrictRules {
        supported: Some(&["type", "properties", "required", "additionalProperties"]),
        rejected: &[("title", "use `description`")],
        ..OPEN
    };
    assert!(check(&property(json!({ "type": "string" })), &rules).is_ok());
    let unknown = error(&property(json!({ "x-own": 1 })), &rules);
    assert!(unknown.contains("`/properties/a~1b/x-own`"), "{unknown}");
    assert!(unknown.contains("turn strict mode off"), "{unknown}");
    let rejected = error(&property(json!({ "title": "A" })), &rules);
    assert!(rejected.contains("use `description`"), "{rejected}");
}

#[test]
fn word_boundaries_are_told_from_other_escapes() {
    for pattern in [r"^[a-z]+(?:-\d{1,3})*$", r"a\\b", "b"] {
        let schema = property(json!({ "pattern": pattern }));
        assert!(check(&schema, &TIGHT).is_ok(), "{pattern}");
    }
    for pattern in [r"\bword", r"\\\bword"] {
        let schema = property(json!({ "pattern": pattern }));
        assert!(
            error(&schema, &TIGHT).contains("word boundaries"),
            "{pattern}"
        );
    }
}

#[test]
fn indirect_recursion_is_found_and_can_be_allowed() {
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let mut schema = closed(
        json!({ "a": reference("A"), "again": reference("A") }),
        json!(["a", "again"]),
    );
    schema["$defs"] = json!({
        "A": closed(json!({ "b": reference("B") }), json!(["b"])),
        "B": closed(json!({ "a": reference("A") }), json!(["a"])),
    });
    assert!(error(&schema, &TIGHT).contains("`/$defs/B/properties/a/$ref`"));
    assert!(check(&schema, &OPEN).is_ok());
    // The same definition twice is no recursion.
    schema["$defs"]["B"] = closed(json!({}), json!([]));
    assert!(check(&schema, &TIGHT).is_ok());
}

#[test]
fn tools_of_a_request_share_its_limits() {
    static RULES: StrictRules = TIGHT;
    let of = |optional, unions| Demand { optional, unions };
    let mut budget = Budget::new(&RULES);
    assert_eq!(budget.take(of(3, 1)), Ok(()));
    let why = budget.take(of(2, 0)).unwrap_err();
    assert!(
        why.contains("4 optional properties in a request") && why.contains("there are 5"),
        "{why}"
    );
    let why = budget.take(of(0, 2)).unwrap_err();
    assert!(why.contains("2 schemas with alternatives"), "{why}");
    // What did not fit takes nothing.
    assert_eq!(budget.take(of(1, 1)), Ok(()));
    assert_eq!(budget.take(of(0, 0)), Ok(()));
    let why = budget.take(of(0, 0)).unwrap_err();
    assert!(why.contains("3 tools in a request"), "{why}");
}
