//! Ollama.

use serde_json::{Value, json};

use super::asked::{Asked, Event, insert, insert_some, merge};
use super::reply::{Call, Reply};

pub(super) fn object(reply: &Reply, asked: &Asked) -> Value {
    let mut message = json!({ "role": "assistant", "content": content(reply).concat() });
    insert_some(&mut message, "thinking", reply.reasoning.as_deref());
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().enumerate();
        let calls = calls.map(|(place, call)| written_call(reply, asked, place, call));
        insert(&mut message, "tool_calls", calls.collect());
    }
    for block in asked.blocks(reply) {
        merge(&mut message, &block);
    }
    last(reply, asked, &message)
}

pub(super) fn events(reply: &Reply, asked: &Asked) -> Vec<Event> {
    let mut deltas = Vec::new();
    for piece in reply.cut(reply.reasoning.as_deref().unwrap_or_default()) {
        deltas.push(json!({ "thinking": piece }));
    }
    deltas.extend(asked.blocks(reply));
    for text in content(reply) {
        let pieces = reply.cut(text).into_iter();
        deltas.extend(pieces.map(|piece| json!({ "content": piece })));
    }
    for (place, call) in reply.calls.iter().enumerate() {
        deltas.push(json!({ "tool_calls": [written_call(reply, asked, place, call)] }));
    }
    let empty = json!({ "role": "assistant", "content": "" });
    let lines = deltas.iter().map(|delta| {
        let mut message = empty.clone();
        merge(&mut message, delta);
        line(asked, &message)
    });
    let lines = lines.chain([last(reply, asked, &empty)]);
    lines.map(Event::plain).collect()
}

/// Returns the visible texts: a refusal is text here.
fn content(reply: &Reply) -> Vec<&str> {
    let texts = [reply.text.as_deref(), reply.refusal.as_deref()];
    texts.into_iter().flatten().collect()
}

fn written_call(reply: &Reply, asked: &Asked, place: usize, call: &Call) -> Value {
    let function =
        json!({ "index": place, "name": call.name, "arguments": call.arguments_value() });
    let mut written = json!({ "function": function });
    if reply.call_ids.unwrap_or(true) {
        let id = call.id_at("call", asked.number, place);
        insert(&mut written, "id", id.into());
    }
    written
}

fn line(asked: &Asked, message: &Value) -> Value {
    json!({
        "model": asked.model,
        // No clock: the same script gives the same bytes.
        "created_at": "2024-01-01T00:00:00Z",
        "message": message,
        "done": false,
    })
}

fn last(reply: &Reply, asked: &Asked, message: &Value) -> Value {
    let mut object = line(asked, message);
    let reason = match reply.finish_reason() {
        "tool_calls" => "stop",
        other => other,
    };
    let end = json!({
        "done": true,
        "done_reason": reason,
        "total_duration": 3_000_000,
        "load_duration": 1_000_000,
    });
    merge(&mut object, &end);
    if let Some(usage) = reply.usage {
        let counts = json!({
            "prompt_eval_count": usage.input,
            "prompt_eval_duration": 1_000_000,
            "eval_count": usage.output,
            "eval_duration": 1_000_000,
        });
        merge(&mut object, &counts);
    }
    object
}
