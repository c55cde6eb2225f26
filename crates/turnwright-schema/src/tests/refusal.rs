//! What no schema may be made of.

use serde_json::{Value, json};

use crate::Schema;

/// The places and the texts of what is wrong with a document.
fn problems(document: Value) -> Vec<(String, String)> {
    let error = Schema::from_document(document).expect_err("the document must be refused");
    error
        .problems()
        .iter()
        .map(|problem| (problem.pointer.clone(), problem.message.clone()))
        .collect()
}

/// Refused with a property `v` of this schema, at this place below it, with these words.
#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better with a literal")]
fn refuses(schema: Value, place: &str, words: &str) {
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
fn a_root_that_is_no_object_is_refused_with_advice() {
    for (document, place, words) in [
        (json!(true), "", "`type` is \"object\""),
        (json!({}), "", "the root must say"),
        (
            json!({ "type": "string" }),
            "/type",
            "put what this is into a property",
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
fn what_would_be_ignored_is_refused_where_it_stands() {
    refuses(
        json!({ "minLenght": 1 }),
        "/minLenght",
        "did you mean `minLength`?",
    );
    refuses(
        json!({ "nullable": true }),
        "/nullable",
        "add \"null\" to `type`",
    );
    refuses(json!({ "optional": true }), "/optional", "would be ignored");
    refuses(
        json!({ "type": "integer", "format": "int32" }),
        "/format",
        "`int32` is not enforced",
    );
    refuses(
        json!({ "dependencies": {} }),
        "/dependencies",
        "ignored by draft 2020-12",
    );
    refuses(json!({ "$dynamicRef": "#a" }), "/$dynamicRef", "use `$ref`");
    refuses(json!({ "then": {} }), "/then", "no effect without `if`");
    refuses(
        json!({ "maxContains": 1 }),
        "/maxContains",
        "no effect without `contains`",
    );
    refuses(
        json!({ "anyOf": [{ "items": { "foo": 1 } }] }),
        "/anyOf/0/items/foo",
        "is no keyword",
    );
    refuses(
        json!({ "$defs": { "unused": { "foo": 1 } } }),
        "/$defs/unused/foo",
        "is no keyword",
    );
    refuses(json!({ "not": { "foo": 1 } }), "/not/foo", "is no keyword");
}

#[test]
fn every_problem_is_told_at_once() {
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
fn draft_7_has_its_own_rules_and_other_drafts_none() {
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
            "beside `$ref`",
        ),
        (
            json!({ "items": {}, "additionalItems": false }),
            "/properties/v/additionalItems",
            "no effect",
        ),
        (
            json!({ "format": "uuid" }),
            "/properties/v/format",
            "not enforced",
        ),
    ] {
        let error = seven(wrong).unwrap_err();
        assert_eq!(error.problems()[0].pointer, place);
        assert!(error.problems()[0].message.contains(words), "{error}");
    }
    // A description beside `$ref` asserts nothing and may stay.
    assert!(seven(json!({ "$ref": "#/definitions/n", "description": "A number." })).is_ok());
    let found =
        problems(json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object" }));
    assert_eq!(found[0].0, "/$schema");
    assert!(found[0].1.contains("drafts 2020-12 and 7 are"));
}

#[test]
fn patterns_that_may_take_for_ever_are_refused() {
    for pattern in ["(?=a)b", "(a)\\1", "(?<!a)b", "(", "(a{1000}){1000}"] {
        refuses(json!({ "pattern": pattern }), "/pattern", "");
    }
    let found = problems(json!({ "type": "object", "patternProperties": { "(?=a)": {} } }));
    assert_eq!(found[0].0, "/patternProperties/(?=a)");
    assert!(found[0].1.contains("linear time"), "{found:?}");
}

#[test]
fn a_default_that_its_own_schema_refuses_is_refused() {
    refuses(
        json!({ "type": "integer", "minimum": 1, "default": 0 }),
        "/default",
        "refused by its own schema",
    );
    refuses(
        json!({ "anyOf": [{ "type": "string" }], "default": 7 }),
        "/default",
        "the default 7",
    );
    refuses(
        json!({ "items": { "type": "string", "default": 7 } }),
        "/items/default",
        "refused",
    );
}

#[test]
fn references_stay_in_the_document_and_lead_somewhere() {
    refuses(
        json!({ "$ref": "http://127.0.0.1:9/schema.json" }),
        "/$ref",
        "points to nothing in this document",
    );
    refuses(
        json!({ "$ref": "other.json#/a" }),
        "/$ref",
        "points to nothing in this document",
    );
    refuses(
        json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }),
        "/$ref",
        "points to nothing",
    );
    refuses(
        json!({ "$ref": "#/$defs/missing" }),
        "/$ref",
        "put the schema under `$defs`",
    );
    refuses(json!({ "$ref": 7 }), "/$ref", "must be text");
}

#[test]
fn a_reference_that_turns_in_a_circle_is_refused_and_a_tree_is_not() {
    let circle = "comes back to itself";
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
fn a_reference_into_a_place_that_is_no_schema_is_held_to_the_same_rules() {
    let document = |target: Value| json!({ "type": "object", "x-shared": target, "properties": { "v": { "$ref": "#/x-shared" } } });
    let schema = Schema::from_document(document(json!({ "type": "integer" }))).unwrap();
    assert!(!schema.accepts(&json!({ "v": "x" })));
    assert_eq!(
        problems(document(json!({ "minLenght": 3 })))[0].0,
        "/x-shared/minLenght"
    );
}

#[test]
fn identifiers_inside_a_document_open_a_scope_of_their_own() {
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
fn documents_beyond_measure_are_refused_and_nothing_overflows() {
    let nested = |levels: usize| {
        let mut schema = json!({ "type": "integer" });
        for _ in 0..levels {
            // Not by `json!`, which would copy it.
            schema = Value::Object(serde_json::Map::from_iter([("items".to_owned(), schema)]));
        }
        schema
    };
    assert!(
        Schema::from_document(json!({ "type": "object", "properties": { "v": nested(100) } }))
            .is_ok()
    );
    let mut deep = json!({ "type": "object" });
    deep["not"] = nested(3_000);
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

    // Twenty levels, each referring twice to the next: a million subschemas for one place.
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

    // The same through properties is no such thing: each place has two.
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
fn a_long_chain_of_references_at_one_place_is_refused_before_it_costs_the_stack() {
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
    // The longest chain that is taken, at every level of the deepest value that is taken, on a test thread's stack.
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
        "`properties` alone says nothing of a number"
    );
}

#[test]
fn defaults_that_would_be_filled_for_ever_are_refused() {
    let found = problems(json!({
        "type": "object", "properties": { "v": { "$ref": "#/$defs/node" } },
        "$defs": { "node": { "type": "object", "properties": { "child": { "$ref": "#/$defs/node", "default": {} } } } },
    }));
    assert!(found[0].1.contains("for ever"), "{found:?}");
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
    assert!(found[0].1.contains("for ever"), "{found:?}");
}

#[test]
fn every_enforced_format_refuses_something() {
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
        let mut enforced = 0;
        for (format, wrong) in refused {
            let made = Schema::from_document(json!({
                "$schema": draft, "type": "object", "properties": { "v": { "format": format } },
            }));
            let Ok(schema) = made else { continue };
            assert!(
                !schema.accepts(&json!({ "v": wrong })),
                "{format} takes {wrong:?}"
            );
            enforced += 1;
        }
        assert_eq!(
            enforced,
            if draft.contains("draft-07") { 15 } else { 17 },
            "{draft}"
        );
    }
}

#[test]
fn a_schema_that_is_text_must_be_json_without_repeated_keys() {
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
