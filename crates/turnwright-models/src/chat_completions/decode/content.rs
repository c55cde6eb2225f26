//! Content: text, or a list of parts that differ between servers.

use serde_json::Value;

use super::delta::{Delta, ReasoningField};
use super::lenient::Any;

/// Appends the content of a message to `deltas`.
pub(super) fn read(content: Any<'_>, deltas: &mut Vec<Delta>) {
    match content {
        Any::Text(text) if text.is_empty() => {}
        Any::Text(text) => deltas.push(Delta::Text(text.into_owned())),
        Any::List(parts) => deltas.extend(parts.into_iter().filter_map(part)),
        Any::Other(value) => deltas.extend(part(value)),
    }
}

/// Converts one part. References and images are not part of a reply.
fn part(value: Value) -> Option<Delta> {
    let fields = match value {
        Value::String(text) => return Some(Delta::Text(text)),
        Value::Object(fields) => fields,
        _ => return None,
    };
    let field = ReasoningField::Thinking;
    let (thinking, text) = (words(fields.get("thinking")), words(fields.get("text")));
    if !thinking.is_empty() {
        let text = thinking;
        return Some(Delta::Reasoning { text, field });
    }
    if !text.is_empty() {
        let kind = fields.get("type").and_then(Value::as_str);
        return Some(match kind {
            Some("thinking" | "reasoning") => Delta::Reasoning { text, field },
            _ => Delta::Text(text),
        });
    }
    let refusal = words(fields.get("refusal"));
    (!refusal.is_empty()).then_some(Delta::Refusal(refusal))
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
