//! Tests of patterns, formats, verdicts and repairs, which the expectations depend on.

use serde_json::{Value, json};

use super::document::Document;
use super::format;
use super::pattern::Pattern;
use super::repair::is_promised;
use super::validator::Validator;
use fastrand::Rng;

#[test]
fn pattern_samples_match_the_pattern() {
    let mut rng = Rng::with_seed(1);
    for text in [
        "^[A-Z]{3}-\\d{2,4}$",
        "^(a|bc)+$",
        "x.y",
        "^\\w+@\\w+$",
        "[^a-z]",
        "^$",
        "a?b*c+",
        "\\bfoo\\b",
    ] {
        let pattern = Pattern::parse(text).unwrap();
        for reach in [0, 1, 5, 20] {
            let made = pattern.sample(&mut rng, reach).unwrap();
            assert!(pattern.matches(&made), "{text} {made:?}");
        }
    }
}

#[test]
fn ambiguous_patterns_are_not_supported() {
    for text in [
        "(?i)a", "[[a]", "[a&&b]", "\\Aa", "(?=a)b", "(a)\\1", "[]a]",
    ] {
        assert!(Pattern::parse(text).is_err(), "{text}");
    }
}

/// Returns the verdict of a document with one property `v`; `None` if validators may disagree.
#[expect(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
fn verdict(schema: Value, value: Value) -> Option<bool> {
    let document = json!({ "type": "object", "properties": { "v": schema } });
    let doc = Document::new(&document);
    match Validator::new(&doc).validate(&json!({ "v": value })) {
        Ok(()) => Some(true),
        Err(violations) => violations.certain.then_some(false),
    }
}

#[test]
fn every_format_has_valid_and_invalid_values() {
    let mut rng = Rng::with_seed(1);
    let table: serde_json::Map<String, Value> =
        serde_json::from_str(include_str!("formats.json")).unwrap();
    assert_eq!(table.len(), 19);
    let mut accepted: Vec<String> = Vec::new();
    for name in table.keys() {
        let format = format::named(name).unwrap_or_else(|| panic!("{name}"));
        for _ in 0..50 {
            let made = format.valid.sample(&mut rng, 3).unwrap();
            let valid = verdict(json!({ "format": name }), json!(made));
            assert_eq!(valid, Some(true), "{name} {made}");
        }
        let is_accepted =
            |text: &&String| verdict(json!({ "format": name }), json!(text)) != Some(false);
        let texts = format.invalid.iter().filter(is_accepted);
        accepted.extend(texts.map(|text| format!("{name}: {text}")));
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
}

#[test]
fn verdicts_are_certain_only_if_all_validators_agree() {
    let tenth = json!({ "multipleOf": 0.1 });
    assert_eq!(verdict(json!({ "multipleOf": 5 }), json!(10)), Some(true));
    assert_eq!(verdict(json!({ "multipleOf": 2.5 }), json!(7)), Some(false));
    assert_eq!(verdict(tenth.clone(), json!(0.3)), None);
    assert_eq!(verdict(tenth, json!(0.35)), Some(false));
    assert_eq!(
        verdict(json!({ "format": "date" }), json!("2024-02-30")),
        Some(false)
    );
    assert_eq!(verdict(json!({ "format": "date" }), json!("9-9-9")), None);
    assert_eq!(
        verdict(json!({ "pattern": "^\\w$" }), json!("!")),
        Some(false)
    );
    assert_eq!(verdict(json!({ "pattern": "^\\w$" }), json!("é")), None);
    let either = json!({ "anyOf": [{ "format": "date" }, { "maxLength": 2 }] });
    assert_eq!(verdict(either.clone(), json!("noon")), None);
    assert_eq!(verdict(either, json!("yesterday")), Some(false));
    assert_eq!(
        verdict(json!({ "not": { "format": "date" } }), json!("2024-02-03")),
        None
    );
    let condition = json!({ "if": { "format": "date" }, "else": { "maxLength": 2 } });
    assert_eq!(verdict(condition, json!("noon")), None);
    assert_eq!(
        verdict(
            json!({ "pattern": "[a&&b]", "maxLength": 2 }),
            json!("noon")
        ),
        Some(false)
    );
}

#[test]
fn external_reference_gives_no_verdict() {
    for reference in ["file:///etc/hostname", "https://example.com/schema.json"] {
        assert_eq!(verdict(json!({ "$ref": reference }), json!(1)), None);
    }
}

#[test]
fn violations_have_keywords_and_locations() {
    let document = json!({
        "$id": "https://example.com/tool.json",
        "type": "object",
        "properties": { "a/b": { "$ref": "#/$defs/100%25" }, "list": { "items": { "anyOf": [{ "type": "integer" }, { "minLength": 2 }] } } },
        "required": ["list"],
        "$defs": { "100%": { "minimum": 3 } },
    });
    let doc = Document::new(&document);
    let validator = Validator::new(&doc);
    let violations = |value| validator.validate(&value).unwrap_err();
    let number = violations(json!({ "a/b": 1, "list": [] }));
    assert!(
        number.certain && number.is_by("/$defs/100%/minimum") && number.is_by("/properties"),
        "{number:?}"
    );
    assert_eq!(number.places, ["/a~1b"]);
    let missing = violations(json!({}));
    assert_eq!(
        (missing.keywords, missing.places),
        (vec!["/required".to_owned()], vec!["/list".to_owned()])
    );
    let item = violations(json!({ "list": [1, "x"] }));
    assert!(
        item.is_by("/properties/list/items/anyOf")
            && item.is_by("/properties/list/items/anyOf/1/minLength")
    );
    assert!(
        item.places.iter().all(|place| place == "/list/1"),
        "{item:?}"
    );
}

#[test]
fn only_permitted_repairs_are_accepted() {
    let document = json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "minimum": 0 },
            "unit": { "$ref": "#/$defs/unit" },
            "opts": { "properties": { "deep": { "default": true } }, "default": {} },
        },
        "$defs": { "unit": { "type": "string", "default": "m" } },
    });
    let doc = Document::new(&document);
    let promised = |before, after| is_promised(&doc, &before, &after, false);
    assert!(promised(json!({ "n": " 5 " }), json!({ "n": 5 })));
    assert!(promised(json!({ "n": 5.0 }), json!({ "n": 5 })));
    assert!(promised(json!({ "n": "TRUE" }), json!({ "n": true })));
    assert!(promised(
        json!({ "n": "[1, \"2\"]" }),
        json!({ "n": [1, 2] })
    ));
    assert!(promised(json!({ "n": null }), json!({})));
    assert!(promised(json!({ "unit": null }), json!({ "unit": "m" })));
    assert!(promised(
        json!({}),
        json!({ "unit": "m", "opts": { "deep": true } })
    ));
    for (before, after) in [
        (json!({ "n": "5" }), json!({ "n": 6 })),
        (json!({ "n": 5 }), json!({ "n": "5" })),
        (json!({ "n": "null" }), json!({ "n": null })),
        (json!({ "n": 5 }), json!({})),
        (json!({}), json!({ "unit": "km" })),
        (json!({}), json!({ "n": 1 })),
        (json!({}), json!({ "opts": { "deep": false } })),
        (json!({ "n": [1, 2] }), json!({ "n": [1] })),
    ] {
        assert!(!promised(before.clone(), after.clone()), "{before} {after}");
    }
    // A valid value only gets defaults.
    assert!(is_promised(&doc, &json!({}), &json!({ "unit": "m" }), true));
    assert!(!is_promised(
        &doc,
        &json!({ "n": "5" }),
        &json!({ "n": 5 }),
        true
    ));
    assert!(!is_promised(&doc, &json!({ "n": null }), &json!({}), true));
}
