//! What `wire decode` prints of a reply.

use serde_json::{Map, Value, json};

use super::decode::{ANNOTATIONS, ENCRYPTED_CONTENT, incomplete_reason};
use crate::decode::Reply;
use crate::engine::{Layout, Part};

pub(super) fn describe(reply: &Reply) -> Map<String, Value> {
    let usage = reply.reported_usage.map(|usage| {
        json!({
            "input": usage.input,
            "output": usage.output,
            "cached": usage.cached,
            "cache_write": usage.cache_write,
            "reasoning": usage.reasoning,
        })
    });
    let layout = Layout::of(&reply.state).unwrap_or_default();
    let mut state = Vec::new();
    let mut other = Vec::new();
    for part in layout.parts() {
        match part {
            Part::Reasoning(block) => {
                let strings = ["id", ENCRYPTED_CONTENT].iter();
                state.extend(strings.filter_map(|name| block.fields.get(*name)).cloned());
            }
            Part::Text(block) => {
                let annotations = block.fields.get(ANNOTATIONS).and_then(Value::as_array);
                let kinds = annotations.into_iter().flatten().map(|annotation| {
                    let kind = annotation.get("type").and_then(Value::as_str);
                    Value::from(format!("citation:{}", kind.unwrap_or_default()))
                });
                other.extend(kinds);
            }
            Part::Call => {}
            Part::Raw(item) => other.extend(item.get("type").cloned()),
        }
    }
    Map::from_iter([
        ("usage".to_owned(), usage.unwrap_or_default()),
        ("state".to_owned(), state.into()),
        ("other".to_owned(), other.into()),
        (
            "incomplete_reason".to_owned(),
            reply.cut().and_then(incomplete_reason).into(),
        ),
        ("response_id".to_owned(), reply.id.as_deref().into()),
    ])
}

/// Returns what an error body says. The error of xAI is a text, with its code beside it.
pub(super) fn describe_error(body: &Value) -> Map<String, Value> {
    let error = body.get("error");
    let (names, message) = match error {
        Some(Value::String(_)) => (Some(body), error),
        _ => (error, error.and_then(|error| error.get("message"))),
    };
    let name = |name: &str| names.and_then(|names| names.get(name));
    let error = json!({ "type": name("type"), "code": name("code"), "message": message });
    Map::from_iter([("error".to_owned(), error)])
}
