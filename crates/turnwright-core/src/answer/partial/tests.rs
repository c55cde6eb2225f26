use proptest::prelude::*;
use serde_json::json;

use super::*;

const MANY: usize = 1 << 24;

fn complete(text: &str) -> Option<Value> {
    let mut partial = PartialJson::new(MANY);
    partial.push(text);
    partial.value()
}

/// Returns whether a value is what can be seen of another one while it is incomplete.
fn is_prefix(part: &Value, full: &Value) -> bool {
    match (part, full) {
        (Value::String(part), Value::String(full)) => full.starts_with(part),
        (Value::Array(part), Value::Array(full)) => {
            let pairs = part.iter().zip(full);
            part.len() <= full.len() && all_but_last_equal(pairs, part.len())
        }
        (Value::Object(part), Value::Object(full)) => {
            let same_keys = part
                .keys()
                .zip(full.keys())
                .all(|(one, other)| one == other);
            let pairs = part.values().zip(full.values());
            same_keys && part.len() <= full.len() && all_but_last_equal(pairs, part.len())
        }
        (part, full) => part == full,
    }
}

fn all_but_last_equal<'v>(
    pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
    length: usize,
) -> bool {
    let mut pairs = pairs.enumerate();
    pairs.all(|(at, (part, full))| {
        if at + 1 == length {
            is_prefix(part, full)
        } else {
            part == full
        }
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\\\\"a😀\n]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// The same value in another spelling: every character as an escape, with white space between all tokens.
fn spelled_out(value: &Value) -> String {
    let text = |text: &str| {
        let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        format!("\"{}\"", units.collect::<String>())
    };
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(spelled_out).collect();
            format!("[ {} ]", items.join(" ,\n"))
        }
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| format!("{}\t: {}", text(key), spelled_out(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(" , "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn every_prefix_gives_a_prefix_of_the_value(value in any_value(), spelled in any::<bool>()) {
        let full = json!({ "value": value });
        let text = if spelled {
            spelled_out(&full)
        } else {
            full.to_string()
        };
        let mut stream = PartialJson::new(MANY);
        let mut last: Option<Value> = None;
        for (at, character) in text.char_indices() {
            let end = at + character.len_utf8();
            let part = complete(&text[..end]).expect("an object has begun");
            prop_assert!(is_prefix(&part, &full), "{} gave {part}", &text[..end]);
            if let Some(last) = last {
                prop_assert!(is_prefix(&last, &part), "{last} then {part}");
            }
            // The result is the same in pieces.
            stream.push(character.encode_utf8(&mut [0; 4]));
            prop_assert_eq!(stream.value(), Some(part.clone()));
            last = Some(part);
        }
        prop_assert_eq!(last, Some(full));
    }

    #[test]
    fn any_text_is_handled_without_panic(text in any::<String>(), json_like in "[{}\\[\\]\",:0-9a-z\\\\` \n.eu-]{0,80}") {
        for text in [text, json_like] {
            let mut partial = PartialJson::new(MANY);
            for character in text.chars() {
                partial.push(character.encode_utf8(&mut [0; 4]));
                drop(partial.next_value());
            }
            drop(complete(&text));
        }
    }
}

#[test]
fn incomplete_parts_are_omitted() {
    for (text, value) in [
        (r#"{"#, json!({})),
        (r#"{"na"#, json!({})),
        (r#"{"name""#, json!({})),
        (r#"{"name": "#, json!({})),
        (r#"{"name": ""#, json!({ "name": "" })),
        (r#"{"name": "Ad"#, json!({ "name": "Ad" })),
        (r#"{"name": "Ad\"#, json!({ "name": "Ad" })),
        (r#"{"name": "Ad\u00"#, json!({ "name": "Ad" })),
        (r#"{"name": "\ud83d"#, json!({ "name": "" })),
        (r#"{"name": "\ud83d\ude0"#, json!({ "name": "" })),
        (r#"{"name": "\ud83d\ude00"#, json!({ "name": "😀" })),
        (r#"{"n": 12"#, json!({})),
        (r#"{"n": 12,"#, json!({ "n": 12 })),
        (r#"{"n": tru"#, json!({})),
        (r#"{"n": true"#, json!({ "n": true })),
        (r#"{"n": [1, 2"#, json!({ "n": [1] })),
        (r#"{"n": [{"a": "#, json!({ "n": [{}] })),
        (r#"{"n": [1, 2]} and more"#, json!({ "n": [1, 2] })),
    ] {
        assert_eq!(complete(text), Some(value), "{text}");
    }
}

#[test]
fn json_in_a_code_block_is_found() {
    let text = "Here it is:\n```json\n{\"a\": [1, 2]}\n``` Enjoy!";
    assert_eq!(complete(text), Some(json!({ "a": [1, 2] })));
    assert_eq!(complete(&text[..24]), Some(json!({})));
    assert_eq!(complete("no JSON {at all}"), None);
}

#[test]
fn deep_large_and_invalid_texts_produce_no_more_values() {
    let deep = "[".repeat(100_000);
    assert!(complete(&deep).is_some());
    let mut small = PartialJson::new(8);
    small.push(r#"{"a": "#);
    small.push(r#""bcdef""#);
    assert_eq!(small.value(), Some(json!({})));
    assert_eq!(complete(r#"{"a": 1, ]"#), Some(json!({ "a": 1 })));
    assert_eq!(complete(r#"{"a": 1}}}"#), Some(json!({ "a": 1 })));
}

/// The total cost is a multiple of the text length, however small the pieces are.
#[test]
fn the_cost_of_a_long_stream_is_not_quadratic() {
    let mut partial = PartialJson::new(MANY);
    partial.push(r#"{"text": ""#);
    let (mut work, length) = (0, 1 << 20);
    for _ in 0..length {
        partial.push("a");
        if partial.next_value().is_some() {
            work += partial.text.len();
        }
    }
    let bound = SMALL * SMALL + 2 * GROWTH * length;
    assert!(work < bound, "{work} bytes were read for {length}");
    partial.push(r#""}"#);
    let last = partial.next_value().expect("the last one always comes");
    assert_eq!(last["text"].as_str().map(str::len), Some(length));
}
