//! Describes a reply for `wire decode`.

use serde_json::{Map, Value, json};

use super::decode::STOP_SEQUENCE;
use crate::decode::Reply;
use crate::engine::{Layout, Part};

/// Returns what a reply has besides its text and its finish reason.
pub(super) fn reply(reply: &Reply) -> Map<String, Value> {
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
    let (mut opaque, mut other) = (Vec::new(), Vec::new());
    for part in layout.parts() {
        match part {
            Part::Text(block) => {
                let citations = block.fields.get("citations").and_then(Value::as_array);
                for citation in citations.into_iter().flatten() {
                    other.push(format!("citation:{}", kind(citation)));
                    encrypted(citation, &mut opaque);
                }
            }
            Part::Reasoning(block) => {
                opaque.extend(block.fields.get("signature").and_then(Value::as_str));
            }
            Part::Raw(block) => {
                other.push(kind(block).to_owned());
                match kind(block) {
                    "redacted_thinking" => opaque.extend(block.get("data").and_then(Value::as_str)),
                    _ => encrypted(block, &mut opaque),
                }
            }
            Part::Call => {}
        }
    }
    Map::from_iter([
        ("usage".to_owned(), usage.unwrap_or_default()),
        ("state".to_owned(), opaque.into()),
        ("other".to_owned(), other.into()),
        (
            STOP_SEQUENCE.to_owned(),
            reply.details.get(STOP_SEQUENCE).cloned().into(),
        ),
    ])
}

/// Returns the type and the message of an error body.
pub(super) fn error(body: &Value) -> Map<String, Value> {
    let field = |name: &str| body.get("error").and_then(|error| error.get(name)).cloned();
    let error = json!({ "type": field("type"), "message": field("message") });
    Map::from_iter([("error".to_owned(), error)])
}

fn kind(block: &Value) -> &str {
    block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Collects the encrypted texts in a block.
fn encrypted<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name.starts_with("encrypted_") => found.push(text),
                    value => encrypted(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| encrypted(item, found)),
        _ => {}
    }
}
