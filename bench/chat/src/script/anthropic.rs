//! Anthropic Messages.

use serde_json::{Value, json};

use super::{WORD, call_id, pieces};

pub(super) fn calls(tool: &str, first: usize, arguments: &[Value]) -> Vec<String> {
    let mut events = begin();
    for (index, arguments) in arguments.iter().map(Value::to_string).enumerate() {
        let id = call_id(first + index);
        let block = json!({ "type": "tool_use", "id": id, "name": tool, "input": {} });
        let deltas = pieces(&arguments)
            .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        push(&mut events, index, &block, deltas);
    }
    end(&mut events, "tool_use");
    events
}

pub(super) fn answer(deltas: usize) -> Vec<String> {
    let mut events = begin();
    let block = json!({ "type": "text", "text": "" });
    let delta = json!({ "type": "text_delta", "text": WORD });
    push(&mut events, 0, &block, std::iter::repeat_n(delta, deltas));
    end(&mut events, "end_turn");
    events
}

fn begin() -> Vec<String> {
    let message = json!({
        "id": "msg_01C4mXq0wT7vJb2nRk9sLdPz",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": 193,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 128,
            "output_tokens": 1,
            "service_tier": "standard",
        },
    });
    vec![event(
        &json!({ "type": "message_start", "message": message }),
    )]
}

fn push(
    events: &mut Vec<String>,
    index: usize,
    block: &Value,
    deltas: impl Iterator<Item = Value>,
) {
    let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
    events.push(event(&start));
    if index == 0 {
        events.push(event(&json!({ "type": "ping" })));
    }
    let deltas = deltas
        .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }));
    events.extend(deltas.map(|delta| event(&delta)));
    events.push(event(
        &json!({ "type": "content_block_stop", "index": index }),
    ));
}

fn end(events: &mut Vec<String>, reason: &str) {
    events.push(event(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": 45 },
    })));
    events.push(event(&json!({ "type": "message_stop" })));
}

fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
