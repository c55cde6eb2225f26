//! Content: text, or a list of parts that differ between servers.

use serde_json::Value;

use super::reasoning::{Reasoning, THINKING};
use crate::decode::{Any, Delta};

/// Appends the content of a message to `deltas`.
pub(super) fn read(content: Any<'_>, reasoning: &mut Reasoning, deltas: &mut Vec<Delta>) {
    match content {
        Any::Text(text) if text.is_empty() => {}
        Any::Text(text) => deltas.push(Delta::Text(text.into_owned())),
        Any::List(parts) => {
            for value in parts {
                part(value, reasoning, deltas);
            }
        }
        Any::Other(value) => part(value, reasoning, deltas),
    }
}

/// Appends one part. References and images are not part of a reply.
fn part(value: Value, reasoning: &mut Reasoning, deltas: &mut Vec<Delta>) {
    let fields = match value {
        Value::String(text) => return deltas.push(Delta::Text(text)),
        Value::Object(fields) => fields,
        _ => return,
    };
    let (thinking, text) = (words(fields.get("thinking")), words(fields.get("text")));
    if !thinking.is_empty() {
        return reasoning.add(THINKING, thinking, deltas);
    }
    if !text.is_empty() {
        let kind = fields.get("type").and_then(Value::as_str);
        return match kind {
            Some("thinking" | "reasoning") => reasoning.add(THINKING, text, deltas),
            _ => deltas.push(Delta::Text(text)),
        };
    }
    let refusal = words(fields.get("refusal"));
    if !refusal.is_empty() {
        deltas.push(Delta::Refusal(refusal));
    }
}

/// Returns the text of a part, which can be nested in further parts. The JSON parser bounds the nesting.
fn words(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().map(|item| words(Some(item))).collect(),
        Some(Value::Object(fields)) => match words(fields.get("thinking")) {
            thinking if thinking.is_empty() => words(fields.get("text")),
            thinking => thinking,
        },
        _ => String::new(),
    }
}
