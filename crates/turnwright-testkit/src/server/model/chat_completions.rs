//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::asked::{Asked, Event, insert, insert_some, merge};
use super::reply::Reply;
use super::usage::Usage;

pub(super) fn object(reply: &Reply, asked: &Asked) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.text });
    insert_some(&mut message, "refusal", reply.refusal.as_deref());
    let reasoning = reply.reasoning.as_deref();
    insert_some(&mut message, "reasoning_content", reasoning);
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
    insert_some(&mut object, "usage", reply.usage.map(usage));
    object
}

pub(super) fn events(reply: &Reply, asked: &Asked) -> Vec<Event> {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    let pieces = |name: &str, text: &Option<String>, deltas: &mut Vec<Value>| {
        let pieces = reply.cut(text.as_deref().unwrap_or_default());
        deltas.extend(pieces.into_iter().map(|piece| json!({ name: piece })));
    };
    pieces("reasoning_content", &reply.reasoning, &mut deltas);
    deltas.extend(asked.blocks(reply));
    pieces("content", &reply.text, &mut deltas);
    pieces("refusal", &reply.refusal, &mut deltas);
    for (place, call) in reply.calls.iter().enumerate() {
        let begun = json!({
            "index": place,
            "id": call.id_at("call", asked.number, place),
            "type": "function",
            "function": { "name": call.name, "arguments": "" },
        });
        deltas.push(json!({ "tool_calls": [begun] }));
        for piece in reply.cut(&call.arguments()) {
            let more = json!({ "index": place, "function": { "arguments": piece } });
            deltas.push(json!({ "tool_calls": [more] }));
        }
    }
    let chunks = deltas.iter().map(|delta| chunk(asked, delta, None));
    let mut chunks: Vec<Value> = chunks.collect();
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
    let (cached, written) = (counts.cached, counts.cache_written);
    let details = || json!({ "cached_tokens": cached, "cache_write_tokens": written });
    let details = (cached > 0 || written > 0).then(details);
    insert_some(&mut usage, "prompt_tokens_details", details);
    let details = || json!({ "reasoning_tokens": counts.reasoning });
    let details = (counts.reasoning > 0).then(details);
    insert_some(&mut usage, "completion_tokens_details", details);
    usage
}
