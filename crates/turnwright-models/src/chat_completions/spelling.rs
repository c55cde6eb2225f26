//! Names, arguments and ids in a form that every server takes.

use std::borrow::Cow;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use turnwright_core::ToolCall;
use turnwright_core::trust::neutralise;

/// Names that servers refuse are written in letters that they take.
pub(super) fn wire_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let written: String = name
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .take(64)
        .collect();
    match written.is_empty() {
        true => "unnamed".to_owned(),
        false => written,
    }
}

/// Arguments as they came if they are an object; else in one: many servers read them again, and fail on anything else. What
/// looks like a tag of ours in them is broken, as in all that a model wrote.
pub(super) fn wire_arguments(call: &ToolCall) -> String {
    let args = call.args();
    let Some(text) = args.text() else {
        return match args.to_value() {
            Value::Null => "{}".to_owned(),
            Value::Object(map) => harmless(Value::Object(map)),
            other => malformed(other),
        };
    };
    if matches!(text.trim(), "" | "null") {
        return "{}".to_owned();
    }
    // An object in a text is taken for the object where it is checked, and so it is here.
    let inner = serde_json::from_str::<String>(text);
    let text = inner.as_deref().unwrap_or(text);
    if !is_object(text) {
        return malformed(Value::from(text));
    }
    match neutralise(text) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(_) => harmless(args_of(text)),
    }
}

fn args_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn malformed(came: Value) -> String {
    let wrapped = Map::from_iter([("malformed_arguments".to_owned(), came)]);
    harmless(Value::Object(wrapped))
}

/// Every text and name within, neutralised. Only of what a parser read, or of what was taken as arguments: both are bounded in
/// depth.
fn harmless(mut value: Value) -> String {
    fn through(value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(broken) = neutralise(text) {
                    *text = broken;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(through),
            Value::Object(map) => {
                let entries = std::mem::take(map).into_iter();
                *map = entries
                    .map(|(name, mut value)| {
                        through(&mut value);
                        (neutralise(&name).into_owned(), value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    through(&mut value);
    value.to_string()
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether an id of a provider's can be sent to it again.
pub(super) fn is_usable(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&id.len()) && id.bytes().all(fits)
}

/// Nine letters and digits: what even the strictest server takes.
pub(super) fn made_id(id: &str, count: u32) -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let digest = Sha256::digest(format!("{count}:{id}").as_bytes());
    let letter = |byte: &u8| {
        let at = usize::from(*byte) % LETTERS.len();
        LETTERS.get(at).copied().map(char::from)
    };
    digest.iter().filter_map(letter).take(9).collect()
}
