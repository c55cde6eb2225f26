//! Anthropic Messages.

use serde_json::{Value, json};

use super::asked::{Asked, Event, insert, insert_some};
use super::reply::Reply;
use super::usage::Usage;

/// The kind of its opaque state.
pub(super) const SIGNATURE: &str = "sig";

/// A content block, and the pieces in which it is streamed.
struct Block {
    whole: Value,
    /// The block as it starts.
    start: Value,
    deltas: Vec<Value>,
}

pub(super) fn object(reply: &Reply, asked: &Asked) -> Value {
    let content: Vec<Value> = blocks(reply, asked)
        .into_iter()
        .map(|block| block.whole)
        .collect();
    let counts = reply.usage.unwrap_or_default();
    message(
        asked,
        &content,
        Some(stop_reason(reply)),
        &usage(counts, counts.output),
    )
}

pub(super) fn events(reply: &Reply, asked: &Asked) -> Vec<Event> {
    let counts = reply.usage.unwrap_or_default();
    let start = message(asked, &[], None, &usage(counts, counts.output.min(1)));
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    for (index, block) in blocks(reply, asked).into_iter().enumerate() {
        let start =
            json!({ "type": "content_block_start", "index": index, "content_block": block.start });
        events.push(start);
        if index == 0 {
            events.push(json!({ "type": "ping" }));
        }
        for delta in block.deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let mut usage = usage(counts, counts.output);
    if let Value::Object(fields) = &mut usage {
        fields.retain(|name, _| !matches!(name.as_str(), "cache_creation" | "service_tier"));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null },
        "usage": usage,
    }));
    events.push(json!({ "type": "message_stop" }));
    events.into_iter().map(Event::typed).collect()
}

fn blocks(reply: &Reply, asked: &Asked) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(text) = thinking(reply, asked) {
        blocks.push(thinking_block(reply, asked, text));
    }
    let raw = asked.blocks(reply).into_iter();
    blocks.extend(raw.map(|block| raw_block(reply, block)));
    for text in [&reply.text, &reply.refusal].into_iter().flatten() {
        if !text.is_empty() {
            blocks.push(text_block(reply, json!({ "type": "text", "text": text })));
        }
    }
    for (place, call) in reply.calls.iter().enumerate() {
        let id = call.id_at("toolu", asked.number, place);
        let of = |input| json!({ "type": "tool_use", "id": id, "name": call.name, "input": input });
        blocks.push(Block {
            whole: of(call.arguments_value()),
            start: of(json!({})),
            deltas: input_deltas(reply, &call.arguments()),
        });
    }
    blocks
}

/// Returns the text of the thinking block. A model that was asked to think does so before each call, even if it does
/// not show it.
fn thinking<'a>(reply: &'a Reply, asked: &Asked) -> Option<&'a str> {
    let kind = asked.at("/thinking/type").and_then(Value::as_str);
    let thinks = matches!(kind, Some("enabled" | "adaptive"));
    let hidden = (thinks && !reply.calls.is_empty()).then_some("");
    reply.reasoning.as_deref().or(hidden)
}

fn thinking_block(reply: &Reply, asked: &Asked, text: &str) -> Block {
    let signature = asked.state(SIGNATURE, &[text]);
    let pieces = reply.cut(text).into_iter();
    let texts = pieces.map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
    let signed = json!({ "type": "signature_delta", "signature": signature });
    Block {
        whole: json!({ "type": "thinking", "thinking": text, "signature": signature }),
        start: json!({ "type": "thinking", "thinking": "", "signature": "" }),
        deltas: texts.chain([signed]).collect(),
    }
}

fn raw_block(reply: &Reply, block: Value) -> Block {
    let kind = block.get("type").and_then(Value::as_str);
    match kind {
        Some("text") => text_block(reply, block),
        Some("server_tool_use" | "mcp_tool_use") => {
            let input = block.get("input").cloned().unwrap_or_else(|| json!({}));
            let mut start = block.clone();
            insert(&mut start, "input", json!({}));
            Block {
                deltas: input_deltas(reply, &input.to_string()),
                start,
                whole: block,
            }
        }
        // Results of the server's own tools and redacted thinking start complete.
        _ => Block {
            start: block.clone(),
            whole: block,
            deltas: Vec::new(),
        },
    }
}

fn text_block(reply: &Reply, block: Value) -> Block {
    let text = block
        .get("text")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut start = json!({ "type": "text", "text": "" });
    let mut deltas = Vec::new();
    if let Some(Value::Array(citations)) = block.get("citations") {
        insert(&mut start, "citations", json!([]));
        let citations = citations.iter();
        deltas.extend(citations.map(|item| json!({ "type": "citations_delta", "citation": item })));
    }
    let pieces = reply.cut(text).into_iter();
    deltas.extend(pieces.map(|piece| json!({ "type": "text_delta", "text": piece })));
    Block {
        start,
        deltas,
        whole: block,
    }
}

/// Returns the pieces of arguments. A call without arguments has one empty piece.
fn input_deltas(reply: &Reply, text: &str) -> Vec<Value> {
    let pieces = match text {
        "{}" | "" => vec![""],
        text => reply.cut(text),
    };
    let pieces = pieces.into_iter();
    pieces
        .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }))
        .collect()
}

fn stop_reason(reply: &Reply) -> &str {
    match (reply.finish_reason(), &reply.refusal) {
        ("stop" | "tool_calls", Some(_)) | ("content_filter", _) => "refusal",
        ("stop", None) => "end_turn",
        ("tool_calls", None) => "tool_use",
        ("length", _) => "max_tokens",
        (other, _) => other,
    }
}

fn message(asked: &Asked, content: &[Value], stop: Option<&str>, usage: &Value) -> Value {
    json!({
        "id": format!("msg_{}_{}", asked.server, asked.number),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage,
    })
}

/// Returns the counts. The input here is only what the cache had no part in.
fn usage(counts: Usage, output: u64) -> Value {
    let mut usage = json!({
        "input_tokens": counts.uncached(),
        "cache_creation_input_tokens": counts.cache_written,
        "cache_read_input_tokens": counts.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts.cache_written,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": output,
        "service_tier": "standard",
    });
    let has_thoughts = counts.reasoning > 0 && output == counts.output;
    let details = has_thoughts.then(|| json!({ "thinking_tokens": counts.reasoning }));
    insert_some(&mut usage, "output_tokens_details", details);
    usage
}
