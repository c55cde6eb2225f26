//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::asked::{Asked, Event, insert, merge};
use super::reply::Reply;
use super::usage::Usage;

pub(super) fn object(reply: &Reply, asked: &Asked) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.text });
    if let Some(refusal) = &reply.refusal {
        insert(&mut message, "refusal", json!(refusal));
    }
    if let Some(reasoning) = &reply.reasoning {
        insert(&mut message, "reasoning_content", json!(reasoning));
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().enumerate();
        let calls = calls.map(|(place, call)| {
            json!({
                "id": call.id_at("call", asked.number, place),
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments() },
            })
        });
        insert(&mut message, "tool_calls", calls.collect());
    }
    for block in asked.blocks(reply) {
        merge(&mut message, &block);
    }
    let finish = reply.finish_reason();
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    let mut object = envelope(asked, "chat.completion", &json!([choice]));
    if let Some(counts) = reply.usage {
        insert(&mut object, "usage", usage(counts));
    }
    object
}

pub(super) fn events(reply: &Reply, asked: &Asked) -> Vec<Event> {
    let mut chunks = vec![chunk(
        asked,
        &json!({ "role": "assistant", "content": "" }),
        None,
    )];
    if let Some(text) = &reply.reasoning {
        let pieces = reply.cut(text).into_iter();
        chunks
            .extend(pieces.map(|piece| chunk(asked, &json!({ "reasoning_content": piece }), None)));
    }
    for block in asked.blocks(reply) {
        chunks.push(chunk(asked, &block, None));
    }
    for (name, text) in [("content", &reply.text), ("refusal", &reply.refusal)] {
        for piece in reply.cut(text.as_deref().unwrap_or_default()) {
            chunks.push(chunk(asked, &json!({ name: piece }), None));
        }
    }
    for (place, call) in reply.calls.iter().enumerate() {
        let begun = json!({
            "index": place,
            "id": call.id_at("call", asked.number, place),
            "type": "function",
            "function": { "name": call.name, "arguments": "" },
        });
        chunks.push(chunk(asked, &json!({ "tool_calls": [begun] }), None));
        for piece in reply.cut(&call.arguments()) {
            let more = json!({ "index": place, "function": { "arguments": piece } });
            chunks.push(chunk(asked, &json!({ "tool_calls": [more] }), None));
        }
    }
    chunks.push(chunk(asked, &json!({}), Some(reply.finish_reason())));
    if let (Some(counts), true) = (reply.usage, asked.is("/stream_options/include_usage")) {
        let mut last = envelope(asked, "chat.completion.chunk", &json!([]));
        insert(&mut last, "usage", usage(counts));
        chunks.push(last);
    }
    chunks.into_iter().map(Event::plain).collect()
}

fn envelope(asked: &Asked, object: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", asked.number),
        "object": object,
        // No clock: the same script gives the same bytes.
        "created": 1_700_000_000,
        "model": asked.model,
        "choices": choices,
    })
}

fn chunk(asked: &Asked, delta: &Value, finish: Option<&str>) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    envelope(asked, "chat.completion.chunk", &json!([choice]))
}

fn usage(counts: Usage) -> Value {
    let mut usage = json!({
        "prompt_tokens": counts.input,
        "completion_tokens": counts.output,
        "total_tokens": counts.total(),
    });
    if counts.cached > 0 || counts.cache_written > 0 {
        let details =
            json!({ "cached_tokens": counts.cached, "cache_write_tokens": counts.cache_written });
        insert(&mut usage, "prompt_tokens_details", details);
    }
    if counts.reasoning > 0 {
        let details = json!({ "reasoning_tokens": counts.reasoning });
        insert(&mut usage, "completion_tokens_details", details);
    }
    usage
}
