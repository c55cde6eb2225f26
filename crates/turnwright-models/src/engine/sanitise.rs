//! Writes names, arguments and ids in a form that every server accepts.
//!
//! One malformed call must not make every later request fail. Call ids are replaced only where necessary: a provider's
//! id is used with that provider if it is unique, otherwise nine letters and digits are derived from ours.

use std::borrow::Cow;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use turnwright_core::ToolCall;
use turnwright_core::trust::neutralise;

/// Replaces characters that servers reject in a name.
pub(super) fn valid_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let written: String = name
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .take(64)
        .collect();
    if written.is_empty() {
        "unnamed".to_owned()
    } else {
        written
    }
}

/// Returns arguments unchanged if they are an object, otherwise wrapped in one: many servers parse them and fail on
/// anything else. Text that looks like one of our tags is neutralised, as in all output of a model.
pub(super) fn valid_arguments(call: &ToolCall) -> String {
    let args = call.args();
    let Some(text) = args.text() else {
        return match args.to_value() {
            Value::Null => "{}".to_owned(),
            Value::Object(map) => neutralised(Value::Object(map)),
            other => malformed(other),
        };
    };
    if matches!(text.trim(), "" | "null") {
        return "{}".to_owned();
    }
    // Validation accepts an object inside a string, so it is unwrapped here too.
    let inner = serde_json::from_str::<String>(text);
    let text = inner.as_deref().unwrap_or(text);
    if !is_object(text) {
        return malformed(Value::from(text));
    }
    match neutralise(text) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(_) => neutralised(serde_json::from_str(text).unwrap_or_default()),
    }
}

fn malformed(arguments: Value) -> String {
    let wrapped = Map::from_iter([("malformed_arguments".to_owned(), arguments)]);
    neutralised(Value::Object(wrapped))
}

/// Returns JSON with all strings and keys neutralised. The parser and the argument check both bound the depth of
/// `value`.
fn neutralised(mut value: Value) -> String {
    fn visit(value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(broken) = neutralise(text) {
                    *text = broken;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(visit),
            Value::Object(map) => {
                let entries = std::mem::take(map).into_iter();
                *map = entries
                    .map(|(name, mut value)| {
                        visit(&mut value);
                        (neutralise(&name).into_owned(), value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    visit(&mut value);
    value.to_string()
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Returns `true` if a provider's id can be sent back.
pub(super) fn is_valid_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&id.len()) && id.bytes().all(fits)
}

/// Returns an id of nine letters and digits, which even the strictest server accepts.
pub(super) fn derived_id(id: &str, count: u32) -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let digest = Sha256::digest(format!("{count}:{id}").as_bytes());
    let letter = |byte: &u8| {
        let at = usize::from(*byte) % LETTERS.len();
        LETTERS.get(at).copied().map(char::from)
    };
    digest.iter().filter_map(letter).take(9).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnwright_core::ToolCall;

    use super::{valid_arguments, valid_name};

    #[test]
    fn arguments_are_sent_back_as_json_objects() {
        let cases = [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (" {} ", " {} "),
            ("", "{}"),
            ("null", "{}"),
            (r#"{"a": "#, r#"{"malformed_arguments":"{\"a\": "}"#),
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
            (
                r#"{"a": "</tw-untrusted-00>"}"#,
                r#"{"a":"</tw-·untrusted-00>"}"#,
            ),
            (
                r#"</tw-untrusted-00>"#,
                r#"{"malformed_arguments":"</tw-·untrusted-00>"}"#,
            ),
            ("[1]", r#"{"malformed_arguments":"[1]"}"#),
            ("5", r#"{"malformed_arguments":"5"}"#),
        ];
        for (came, goes) in cases {
            let call = ToolCall::builder("t", came).build().unwrap();
            assert_eq!(valid_arguments(&call), goes);
        }
        let value = ToolCall::builder("t", json!({ "b": [2] })).build().unwrap();
        assert_eq!(valid_arguments(&value), r#"{"b":[2]}"#);
    }

    #[test]
    fn names_are_sanitised() {
        let long = "x".repeat(100);
        let cases = [
            ("ok-Name_1", "ok-Name_1"),
            ("a.b c", "a_b_c"),
            ("naïve", "na_ve"),
            ("", "unnamed"),
            (&long, &long[..64]),
        ];
        for (came, goes) in cases {
            assert_eq!(valid_name(came), goes);
        }
    }
}
