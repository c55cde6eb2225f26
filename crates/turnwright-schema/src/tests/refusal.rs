//! Documents that are rejected.

use serde_json::{Value, json};

use crate::Schema;

/// Returns the pointers and messages of a document's problems.
fn problems(document: Value) -> Vec<(String, String)> {
    let error = Schema::from_document(document).expect_err("the document must be rejected");
    error
        .problems()
        .iter()
        .map(|problem| (problem.pointer.clone(), problem.message.clone()))
        .collect()
}

/// Asserts that a property `v` with this schema is rejected at `place`, with a message that contains `words`.
#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better with a literal")]
fn rejects(schema: Value, place: &str, words: &str) {
    let found = problems(json!({ "type": "object", "properties": { "v": schema } }));
    let wanted = format!("/properties/v{place}");
    assert!(
        found
            .iter()
            .any(|(pointer, message)| *pointer == wanted && message.contains(words)),
        "{wanted} {words:?} is not in {found:?}"
    );
}

#[test]
fn root_must_be_an_object_schema() {
    for (document, place, words) in [
        (json!(true), "", "must be a JSON object"),
        (json!({}), "", "the root must have"),
        (
            json!({ "type": "string" }),
            "/type",
            "put this schema into a property",
        ),
        (
            json!({ "type": ["object", "null"] }),
            "/type",
            "must be \"object\"",
        ),
        (json!({ "enum": ["a"] }), "", "put it into a field"),
        (
            json!({ "oneOf": [{ "type": "object" }] }),
            "",
            "put it into a field",
        ),
    ] {
        let found = problems(document);
        assert_eq!(found[0].0, place);
        assert!(found[0].1.contains(words), "{found:?}");
    }
}

#[test]
fn a_wrong_type_is_named_with_the_one_that_was_meant() {
    for (wrong, words) in [
        (
            json!("strng"),
            r#""strng" is not a type: did you mean `string`?"#,
        ),
        (json!("Integer"), "did you mean `integer`?"),
        (json!("str"), "did you mean `string`?"),
        (json!("bool"), "did you mean `boolean`?"),
        (
            json!(["string", "nul"]),
            r#""nul" is not a type: did you mean `null`?"#,
        ),
        (json!("float"), "use one of `string`, `integer`, `number`"),
        (json!(7), "7 is not a type"),
        (json!([]), "must name at least one type"),
        (json!(["null", "null"]), "each only once"),
    ] {
        rejects(json!({ "type": wrong }), "/type", words);
    }
    let misspelled = problems(json!({ "type": "objekt" }));
    assert!(
        misspelled[0].1.contains("did you mean `object`?"),
        "{misspelled:?}"
    );
}

#[test]
fn no_problem_quotes_the_schema_of_schemas() {
    let draft_7 = "http://json-schema.org/draft-07/schema";
    for (keyword, value) in [
        ("type", json!({})),
        ("items", json!(7)),
        ("dependencies", json!({ "a": [7] })),
        ("dependencies", json!({ "a": "b" })),
        ("additionalProperties", json!("no")),
        ("properties", json!([])),
    ] {
        let found = problems(json!({
            "$schema": draft_7, "type": "object", "properties": { "v": { keyword: value } },
        }));
        assert!(!found[0].1.contains("anyOf"), "{found:?}");
    }
}

#[test]
fn keywords_that_would_be_ignored_are_rejected() {
    rejects(
        json!({ "minLenght": 1 }),
        "/minLenght",
        "did you mean `minLength`?",
    );
    rejects(
        json!({ "nullable": true }),
        "/nullable",
        "add \"null\" to `type`",
    );
    rejects(json!({ "optional": true }), "/optional", "would be ignored");
    rejects(
        json!({ "type": "integer", "format": "int32" }),
        "/format",
        "`int32` is not enforced",
    );
    rejects(
        json!({ "dependencies": {} }),
        "/dependencies",
        "ignored by draft 2020-12",
    );
    rejects(json!({ "$dynamicRef": "#a" }), "/$dynamicRef", "use `$ref`");
    rejects(json!({ "then": {} }), "/then", "no effect without `if`");
    rejects(
        json!({ "maxContains": 1 }),
        "/maxContains",
        "no effect without `contains`",
    );
    rejects(
        json!({ "anyOf": [{ "items": { "foo": 1 } }] }),
        "/anyOf/0/items/foo",
        "is not a keyword",
    );
    rejects(
        json!({ "$defs": { "unused": { "foo": 1 } } }),
        "/$defs/unused/foo",
        "is not a keyword",
    );
    rejects(
        json!({ "not": { "foo": 1 } }),
        "/not/foo",
        "is not a keyword",
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = problems(json!({
        "type": "object", "foo": 1,
        "properties": { "a": { "bar": 1 }, "b": { "format": "nope" } },
    }));
    assert_eq!(
        found
            .iter()
            .map(|(pointer, _)| pointer.as_str())
            .collect::<Vec<_>>(),
        ["/foo", "/properties/a/bar", "/properties/b/format"]
    );
}

#[test]
fn draft_7_is_supported_and_other_drafts_are_rejected() {
    let seven = |schema: Value| {
        Schema::from_document(json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object", "properties": { "v": schema }, "definitions": { "n": { "type": "integer" } },
        }))
    };
    let schema =
        seven(json!({ "items": [{ "type": "integer" }], "additionalItems": false })).unwrap();
    assert!(schema.accepts(&json!({ "v": [1] })));
    assert!(!schema.accepts(&json!({ "v": ["x"] })));
    assert!(!schema.accepts(&json!({ "v": [1, 2] })));
    for (wrong, place, words) in [
        (
            json!({ "prefixItems": [] }),
            "/properties/v/prefixItems",
            "ignored by draft 7",
        ),
        (
            json!({ "$ref": "#/definitions/n", "minimum": 1 }),
            "/properties/v/minimum",
            "next to `$ref`",
        ),
        (
            json!({ "items": {}, "additionalItems": false }),
            "/properties/v/additionalItems",
            "no effect",
        ),
    ] {
        let error = seven(wrong).unwrap_err();
        assert_eq!(error.problems()[0].pointer, place);
        assert!(error.problems()[0].message.contains(words), "{error}");
    }
    // A description next to `$ref` asserts nothing and is accepted.
    assert!(seven(json!({ "$ref": "#/definitions/n", "description": "A number." })).is_ok());
    let found =
        problems(json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object" }));
    assert_eq!(found[0].0, "/$schema");
    assert!(found[0].1.contains("use draft 2020-12 or draft 7"));
}

#[test]
fn patterns_without_linear_time_are_rejected() {
    for pattern in ["(?=a)b", "(a)\\1", "(?<!a)b", "(", "(a{1000}){1000}"] {
        rejects(json!({ "pattern": pattern }), "/pattern", "");
    }
    let found = problems(json!({ "type": "object", "patternProperties": { "(?=a)": {} } }));
    assert_eq!(found[0].0, "/patternProperties/(?=a)");
    assert!(found[0].1.contains("linear time"), "{found:?}");
}

#[test]
fn what_is_wrong_with_a_pattern_is_named() {
    for (pattern, words) in [
        ("(?=a)b", "look-around"),
        ("(a)\\1", "back-reference"),
        ("[\\w-.]", "escape the `-`"),
        ("[a-z", "unclosed character class"),
        ("(a{1000}){1000}", "too large"),
    ] {
        rejects(json!({ "pattern": pattern }), "/pattern", words);
        let named = json!({ "type": "object", "patternProperties": { pattern: {} } });
        let found = problems(named);
        assert!(found[0].1.contains(words), "{found:?}");
    }
}

#[test]
fn default_that_is_invalid_under_its_own_schema_is_rejected() {
    rejects(
        json!({ "type": "integer", "minimum": 1, "default": 0 }),
        "/default",
        "not valid under its own schema",
    );
    rejects(
        json!({ "anyOf": [{ "type": "string" }], "default": 7 }),
        "/default",
        "the default 7",
    );
    rejects(
        json!({ "items": { "type": "string", "default": 7 } }),
        "/items/default",
        "not valid",
    );
}

#[test]
fn references_must_resolve_within_the_document() {
    rejects(
        json!({ "$ref": "http://127.0.0.1:9/schema.json" }),
        "/$ref",
        "does not resolve within this document",
    );
    rejects(
        json!({ "$ref": "other.json#/a" }),
        "/$ref",
        "does not resolve within this document",
    );
    rejects(
        json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }),
        "/$ref",
        "does not resolve",
    );
    rejects(
        json!({ "$ref": "#/$defs/missing" }),
        "/$ref",
        "put the schema under `$defs`",
    );
    rejects(json!({ "$ref": 7 }), "/$ref", "must be a string");
}

#[test]
fn circular_reference_is_rejected_and_recursive_type_is_accepted() {
    let circle = "refers to itself";
    let found = problems(json!({
        "type": "object", "properties": { "v": { "$ref": "#/$defs/a" } },
        "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }] }, "b": { "anyOf": [{ "$ref": "#/$defs/a" }] } },
    }));
    assert!(found[0].1.contains(circle), "{found:?}");
    assert!(
        problems(json!({ "type": "object", "$ref": "#" }))[0]
            .1
            .contains(circle)
    );
    assert!(
        problems(json!({ "type": "object", "not": { "if": { "$ref": "#" } } }))[0]
            .1
            .contains(circle)
    );

    let tree = Schema::from_document(json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#" } } },
        "required": ["name"],
    }))
    .unwrap();
    assert!(tree.accepts(&json!({ "name": "a", "children": [{ "name": "b", "children": [] }] })));
    assert!(!tree.accepts(&json!({ "name": "a", "children": [{ "children": [] }] })));
}

#[test]
fn reference_target_outside_schema_positions_is_checked_too() {
    let document = |target: Value| json!({ "type": "object", "x-shared": target, "properties": { "v": { "$ref": "#/x-shared" } } });
    let schema = Schema::from_document(document(json!({ "type": "integer" }))).unwrap();
    assert!(!schema.accepts(&json!({ "v": "x" })));
    assert_eq!(
        problems(document(json!({ "minLenght": 3 })))[0].0,
        "/x-shared/minLenght"
    );
}

#[test]
fn nested_identifiers_open_their_own_scope() {
    let schema = Schema::from_document(json!({
        "type": "object",
        "properties": { "v": {
            "$id": "urn:example:inner",
            "properties": { "a b": { "$ref": "#/$defs/n" } },
            "$defs": { "n": { "type": "integer", "default": 3 } },
        } },
        "$defs": { "n": { "type": "string" } },
    }))
    .unwrap();
    assert_eq!(
        schema.check(r#"{"v": {"a b": "7"}}"#).unwrap().value(),
        &json!({ "v": { "a b": 7 } })
    );
    assert_eq!(
        schema.check(r#"{"v": {}}"#).unwrap().value(),
        &json!({ "v": { "a b": 3 } })
    );
    assert!(!schema.accepts(&json!({ "v": { "a b": "x" } })));
}

#[test]
fn oversized_documents_are_rejected_without_overflow() {
    let nested = |levels: usize| {
        let mut schema = json!({ "type": "integer" });
        for _ in 0..levels {
            // Without `json!`, which would copy it.
            schema = Value::Object(serde_json::Map::from_iter([("items".to_owned(), schema)]));
        }
        schema
    };
    assert!(
        Schema::from_document(json!({ "type": "object", "properties": { "v": nested(100) } }))
            .is_ok()
    );
    let mut deep = json!({ "type": "object" });
    deep["not"] = nested(200);
    let found = problems(deep);
    assert!(found[0].1.contains("levels"), "{found:?}");
    let text = format!(
        "{{\"type\": \"object\", \"not\": {}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(
        Schema::from_json(&text)
            .unwrap_err()
            .to_string()
            .contains("128 levels")
    );

    // Twenty levels, each with two references to the next: a million subschemas for one location.
    let mut definitions = serde_json::Map::new();
    for level in 0..20 {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        definitions.insert(format!("l{level}"), json!({ "allOf": [next, next] }));
    }
    definitions.insert("l20".to_owned(), json!({ "type": "integer" }));
    let found = problems(
        json!({ "type": "object", "properties": { "v": { "$ref": "#/$defs/l0" } }, "$defs": definitions }),
    );
    assert!(found[0].1.contains("10,000 subschemas"), "{found:?}");

    // Through properties this is fine: each location has two.
    let mut definitions = serde_json::Map::new();
    for level in 0..20 {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        definitions.insert(
            format!("l{level}"),
            json!({ "properties": { "a": next, "b": next } }),
        );
    }
    definitions.insert("l20".to_owned(), json!({ "type": "integer" }));
    Schema::from_document(json!({ "type": "object", "properties": { "v": { "$ref": "#/$defs/l0" } }, "$defs": definitions }))
        .unwrap();
}

#[test]
fn long_reference_chain_at_one_location_is_rejected() {
    let chain = |length: usize| {
        let mut definitions = serde_json::Map::new();
        for link in 0..length {
            definitions.insert(
                format!("c{link}"),
                json!({ "$ref": format!("#/$defs/c{}", link + 1) }),
            );
        }
        definitions.insert(
            format!("c{length}"),
            json!({ "properties": { "down": { "$ref": "#/$defs/c0" } } }),
        );
        json!({ "type": "object", "properties": { "down": { "$ref": "#/$defs/c0" } }, "$defs": definitions })
    };
    assert!(
        problems(chain(5_000))[0]
            .1
            .contains("more than 64 subschemas")
    );
    // The longest accepted chain at every level of the deepest accepted value, on a test thread's stack.
    let schema = Schema::from_document(chain(60)).unwrap();
    let mut value = json!({});
    for _ in 0..127 {
        value = json!({ "down": value });
    }
    assert!(schema.check(value).is_ok());
    let mut wrong = json!({ "down": 7 });
    for _ in 0..120 {
        wrong = json!({ "down": wrong });
    }
    assert!(
        schema.check(wrong).is_ok(),
        "`properties` alone does not restrict numbers"
    );
}

#[test]
fn endless_defaults_are_rejected() {
    let found = problems(json!({
        "type": "object", "properties": { "v": { "$ref": "#/$defs/node" } },
        "$defs": { "node": { "type": "object", "properties": { "child": { "$ref": "#/$defs/node", "default": {} } } } },
    }));
    assert!(found[0].1.contains("never end"), "{found:?}");
    // Doubling: each default fills two of the next.
    let mut definitions = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1), "default": {} });
        definitions.insert(
            format!("l{level}"),
            json!({ "type": "object", "properties": { "a": next, "b": next } }),
        );
    }
    definitions.insert("l30".to_owned(), json!({ "type": "object" }));
    let found = problems(
        json!({ "type": "object", "properties": { "v": { "$ref": "#/$defs/l0" } }, "$defs": definitions }),
    );
    assert!(found[0].1.contains("never end"), "{found:?}");
}

#[test]
fn every_enforced_format_rejects_an_invalid_value() {
    let refused = [
        ("date", "2000-13-01"),
        ("date-time", "yesterday"),
        ("time", "25:00:00Z"),
        ("duration", "1 day"),
        ("email", "nobody"),
        ("hostname", "-a-"),
        ("ipv4", "256.0.0.1"),
        ("ipv6", "::g"),
        ("uri", "no uri"),
        ("uri-reference", "\\\\"),
        ("uri-template", "{"),
        ("iri", "no iri"),
        ("iri-reference", "\\\\"),
        ("json-pointer", "a"),
        ("relative-json-pointer", "-1"),
        ("regex", "("),
        ("uuid", "0"),
    ];
    for draft in [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
    ] {
        for (format, wrong) in refused {
            let made = Schema::from_document(json!({
                "$schema": draft, "type": "object", "properties": { "v": { "format": format } },
            }));
            let schema = made.unwrap();
            assert!(
                !schema.accepts(&json!({ "v": wrong })),
                "{format} accepts {wrong:?}"
            );
        }
    }
}

#[test]
fn schema_text_must_be_json_without_repeated_keys() {
    assert!(
        Schema::from_json("{")
            .unwrap_err()
            .to_string()
            .contains("is not JSON")
    );
    let error =
        Schema::from_json(r#"{"type": "object", "properties": {"a": {}, "a": {}}}"#).unwrap_err();
    assert_eq!(error.problems()[0].pointer, "/properties/a");
    assert!(Schema::from_json(r#"{"type": "object"}"#).is_ok());
}
