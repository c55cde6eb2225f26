use proptest::prelude::*;
use serde_json::{Value, json};

use super::{checksum, write};
use crate::schema::RawArgs;

const CALL_IDS: &str = include_str!("../../tests/vectors/call_id.json");

#[test]
fn checksums_match_the_test_vectors() {
    let vectors: Vec<Value> = serde_json::from_str(CALL_IDS).unwrap();
    assert_eq!(vectors.len(), 9);
    for case in vectors {
        let (tool, args) = (
            case["tool"].as_str().unwrap(),
            case["args_json"].as_str().unwrap(),
        );
        let mut canonical = Vec::new();
        write(
            &json!({ "tool": tool, "args": RawArgs::from(args).to_value() }),
            &mut canonical,
        );
        assert_eq!(
            String::from_utf8(canonical).unwrap(),
            case["canonical"].as_str().unwrap()
        );
        assert_eq!(
            checksum(tool, args),
            case["call_id"].as_str().unwrap(),
            "{case}"
        );
    }
}

#[test]
fn a_call_with_unreadable_arguments_has_a_checksum() {
    let as_text = |text: &str| checksum("t", Value::from(text));
    assert_eq!(checksum("t", "not json"), as_text("not json"));
    assert_eq!(checksum("t", "{\"a\":"), as_text("{\"a\":"));
    assert_eq!(
        checksum("t", r#"{"a":1,"a":2}"#),
        checksum("t", r#"{"a":2}"#),
        "the last of repeated keys counts"
    );
    let deep = "[".repeat(100_000);
    assert_eq!(checksum("t", deep.as_str()), as_text(&deep));
}

#[test]
fn different_numbers_have_different_checksums_and_equal_ones_the_same() {
    let id = |n: &str| checksum("t", format!("{{\"n\":{n}}}"));
    assert_eq!(id("36028797018963968"), id("36028797018963968.0"));
    assert_ne!(id("36028797018963968.0"), id("36028797018963970"));
    assert_eq!(id("9.223372036854775808e18"), id("9223372036854775808"));
    assert_eq!(id("-0.0"), id("0"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        // The oracle supports integers up to 2^53 only.
        (-(1_i64 << 53)..(1 << 53)).prop_map(Value::from),
        // We keep the digits of whole numbers beyond that, however they are spelled.
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite()
                && !(n.fract() == 0.0 && n.abs() > 9e15 && n.abs() < 2e19))
            .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[\u{0}-\u{1f}\"\\\\\u{d7ff}-\u{e010}\u{fff0}-\u{10010}]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(
                ("[a\u{d7ff}\u{e000}\u{ffff}\u{10000}\"\n]{0,3}", inner),
                0..6
            )
            .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_json_matches_another_implementation(value in any_json()) {
        let mut ours = Vec::new();
        write(&value, &mut ours);
        let theirs = serde_json_canonicalizer::to_string(&value).unwrap();
        prop_assert_eq!(String::from_utf8(ours).unwrap(), theirs);
    }

    #[test]
    fn order_and_spelling_of_arguments_do_not_change_the_checksum(value in any_json()) {
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(checksum("t", pretty), checksum("t", value.clone()));
        let Value::Object(map) = &value else { return Ok(()) };
        let backwards: Value = Value::Object(map.clone().into_iter().rev().collect());
        prop_assert_eq!(checksum("t", backwards), checksum("t", value.clone()));
    }
}
