//! The reading of JSON Schema that the expectations come from.

use serde_json::json;

use super::document::Document;
use super::judge::Judge;
use super::pattern::Pattern;
use super::rng::Rng;
use super::verdict::Verdict;
use super::{format, number};

#[test]
fn a_pattern_makes_strings_that_it_matches() {
    let mut rng = Rng::new(1);
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
            assert_eq!(pattern.matches(&made), Some(true), "{text} {made:?}");
        }
    }
}

#[test]
fn a_pattern_in_a_dialect_of_its_own_is_not_read() {
    for text in [
        "(?i)a", "[[a]", "[a&&b]", "\\Aa", "(?=a)b", "(a)\\1", "[]a]",
    ] {
        assert!(Pattern::parse(text).is_err(), "{text}");
    }
}

#[test]
fn every_format_makes_values_and_knows_broken_ones() {
    let mut rng = Rng::new(1);
    for name in [
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
    ] {
        let format = format::named(name).unwrap_or_else(|| panic!("{name}"));
        for _ in 0..50 {
            let made = format.sure.sample(&mut rng, 3).unwrap();
            assert_eq!(format.judge(&made), Verdict::Valid, "{name} {made}");
        }
        assert!(
            format
                .broken
                .iter()
                .all(|text| format.judge(text) == Verdict::Invalid)
        );
    }
}

#[test]
fn multiples_are_decimal_where_binary_agrees() {
    let number = |value: serde_json::Value| value.as_number().cloned().unwrap();
    let judge = |n, step| number::is_multiple(&number(n), &number(step));
    assert_eq!(judge(json!(10), json!(5)), Verdict::Valid);
    assert_eq!(judge(json!(7.5), json!(2.5)), Verdict::Valid);
    assert_eq!(judge(json!(7), json!(2.5)), Verdict::Invalid);
    assert_eq!(judge(json!(0.3), json!(0.1)), Verdict::Unknown);
}

#[test]
fn what_a_repair_could_save_is_not_called_broken() {
    let document = json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "minimum": 0 },
            "unit": { "type": "string", "default": "m" },
        },
        "required": ["n", "unit"],
        "additionalProperties": false,
    });
    let doc = Document::new(&document);
    let beyond = |value| Judge::beyond_repair(&doc, &value);
    assert!(
        !beyond(json!({ "n": "5", "unit": "m" })),
        "text that is a number"
    );
    assert!(!beyond(json!({ "n": 5 })), "a default is filled in");
    assert!(
        !beyond(json!({ "n": null, "unit": "m" })),
        "a null may count as absent"
    );
    assert!(beyond(json!({ "unit": "m" })));
    assert!(beyond(json!({ "n": -1 })));
    assert!(beyond(json!({ "n": "five" })));
    assert!(beyond(json!({ "n": 5, "more": 1 })));
}
