use std::ffi::OsStr;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use turnwright_models::http::Request;
use url::Url;

use super::diff::diff;
use super::file::{Asked, bytes, content};
use super::scrub::{MARK, redactor, redactor_of, scrub};
use super::wants_to_record;

fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c/~]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let names = "[a-c/~]{0,2}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Returns the same value with reversed key order in every object.
fn turned(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(turned).collect(),
        Value::Object(map) => {
            let entries = map.iter().rev();
            let entries = entries.map(|(name, value)| (name.clone(), turned(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn asked(body: impl Into<Vec<u8>>) -> Asked {
    let url = Url::parse("https://models.example/v1/chat/completions").unwrap();
    Asked::of(&Request::new(url, body.into()), &redactor_of([]))
}

proptest! {
    #[test]
    fn key_ignores_key_order_and_white_space(value in json_values()) {
        let compact = asked(value.to_string());
        let pretty = asked(serde_json::to_string_pretty(&turned(&value)).unwrap());
        prop_assert_eq!(compact.key(), pretty.key());
        prop_assert!(diff(&compact.body, &pretty.body).is_empty());
    }

    #[test]
    fn bodies_differ_exactly_if_their_keys_differ(a in json_values(), b in json_values()) {
        let (a, b) = (asked(a.to_string()), asked(b.to_string()));
        prop_assert_eq!(diff(&a.body, &b.body).is_empty(), a.key() == b.key());
    }

    #[test]
    fn differences_have_the_right_pointers(a in json_values(), b in json_values()) {
        for found in diff(&a, &b) {
            prop_assert_eq!(a.pointer(&found.pointer), found.recorded);
            prop_assert_eq!(b.pointer(&found.pointer), found.now);
        }
    }

    #[test]
    fn scrubbed_text_never_contains_the_secret(
        secrets in prop::collection::vec("\\PC{1,9}|[ab]{1,4}|\\[?scrub[bed]*\\]?", 1..4),
        pieces in prop::collection::vec("\\PC{0,4}|[ab]{0,6}", 0..4),
    ) {
        let text = pieces.join(&secrets[0]) + &secrets.concat();
        let redactor = redactor_of(secrets.clone());
        let scrubbed = redactor.text(&text);
        let mut value = json!({ text.as_str(): [text.as_str()] });
        scrub(&redactor, &mut value);
        let (name, within) = value.as_object().unwrap().iter().next().unwrap();
        for secret in &secrets {
            prop_assert!(!scrubbed.contains(secret));
            prop_assert!(!name.contains(secret) && !within[0].as_str().unwrap().contains(secret));
        }
        // As in the JSON text of a response.
        let response = redactor.bytes(json!(text).to_string().as_bytes());
        if let Ok(read) = serde_json::from_slice::<String>(&response) {
            for secret in &secrets {
                prop_assert!(!read.contains(secret), "{read:?}");
            }
        }
    }

    #[test]
    fn bytes_round_trip_through_the_file(raw in any::<Vec<u8>>()) {
        prop_assert_eq!(bytes(&content(raw.clone())).unwrap(), raw);
    }
}

#[test]
fn differences_are_readable_lines() {
    let long = "x".repeat(300);
    let recorded =
        json!({ "a/b": 1, "gone": [true], "text": format!("{long}old{long}"), "same": 1 });
    let now = json!({ "a/b": "1", "text": format!("{long}new{long}"), "same": 1.0, "seed": 7 });
    let found = diff(&recorded, &now);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    let (before, after) = ("x".repeat(20), "x".repeat(57));
    assert_eq!(
        lines,
        [
            r#"/a~1b: recorded 1, now "1""#.to_owned(),
            "- /gone: [true]".to_owned(),
            format!(r#"/text: recorded "…{before}old{after}…", now "…{before}new{after}…""#),
            "+ /seed: 7".to_owned(),
        ]
    );
    let complete = diff(&Value::Null, &recorded);
    assert!(
        complete[0]
            .to_string()
            .starts_with("the body: recorded null, now {\"a/b\":1,")
    );
}

#[test]
fn too_deep_body_is_treated_as_text() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(asked(deep(100)).body.is_array());
    assert_eq!(asked(deep(101)).body, Value::String(deep(101)));
    assert_eq!(asked(deep(100_000)).body, Value::String(deep(100_000)));
    assert_eq!(asked("").body, Value::Null);
    assert_eq!(asked([0xff]).body, json!({ "base64": "/w==" }));
}

#[test]
fn keys_in_headers_and_queries_are_secrets() {
    let url =
        Url::parse("https://u:pass-word-1@h/v1/x?key=query-key-1&api-version=2024-10-21").unwrap();
    let body = r#"["Bearer header-key", "header-key", "query-key-1", "pass-word-1", "2024-10-21", "short"]"#;
    let request = Request::new(url, body)
        .header("Authorization", "Bearer header-key")
        .header("x-api-key", "short");
    let asked = Asked::of(&request, &redactor(&[], &request));
    assert_eq!(asked.path, "/v1/x?key=&api-version=");
    assert_eq!(asked.route(), "/v1/x");
    let bearer = format!("Bearer {MARK}");
    assert_eq!(
        asked.body,
        json!([bearer, MARK, MARK, MARK, "2024-10-21", "short"])
    );
}

#[test]
fn record_variable_must_be_set_and_not_zero() {
    for (message, records) in [
        (None, false),
        (Some(""), false),
        (Some("0"), false),
        (Some("1"), true),
    ] {
        assert_eq!(
            wants_to_record(message.map(OsStr::new)),
            records,
            "{message:?}"
        );
    }
}
