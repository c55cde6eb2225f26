//! The Anthropic Messages protocol.

mod caching;
mod events;
mod failures;
mod strict_tools;
mod turns;

use serde_json::{Value, json};
use turnwright_models::anthropic::AnthropicCodec;
use turnwright_models::{Anthropic, ModelBuilder};
use turnwright_testkit::server::Answer;

/// Returns a builder that does not depend on the environment.
pub(crate) fn builder(base_url: &str) -> ModelBuilder<AnthropicCodec> {
    Anthropic::builder(base_url)
        .api_key("sk-ant-secret-1234")
        .model("claude-sonnet-4-5")
}

/// Returns a stream of a message with these blocks, each in two pieces.
fn stream(blocks: &[Value], stop_reason: &str) -> Answer {
    Answer::sse(events(blocks, stop_reason).iter().map(Value::to_string))
}

/// Returns the events of a message with these blocks.
fn events(blocks: &[Value], stop_reason: &str) -> Vec<Value> {
    let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
    let message = json!({ "id": "msg_1", "type": "message", "model": "claude", "content": [], "usage": usage });
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in blocks.iter().enumerate() {
        let (start, deltas) = opened(block);
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let usage = json!({ "output_tokens": 20 });
    let delta = json!({ "stop_reason": stop_reason, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    events
}

/// Returns the start of a block, and its deltas.
fn opened(block: &Value) -> (Value, Vec<Value>) {
    let mut start = block.clone();
    let mut deltas = Vec::new();
    let halves = |text: &str| {
        let middle = text.chars().count() / 2;
        let one: String = text.chars().take(middle).collect();
        let two: String = text.chars().skip(middle).collect();
        [one, two]
    };
    match block["type"].as_str().unwrap() {
        "text" => {
            for text in halves(block["text"].as_str().unwrap()) {
                deltas.push(json!({ "type": "text_delta", "text": text }));
            }
            start["text"] = "".into();
        }
        "thinking" => {
            for text in halves(block["thinking"].as_str().unwrap()) {
                deltas.push(json!({ "type": "thinking_delta", "thinking": text }));
            }
            deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
            (start["thinking"], start["signature"]) = ("".into(), "".into());
        }
        "tool_use" | "server_tool_use" => {
            let input = if block["input"].as_object().unwrap().is_empty() {
                String::new()
            } else {
                block["input"].to_string()
            };
            for json in halves(&input) {
                deltas.push(json!({ "type": "input_json_delta", "partial_json": json }));
            }
            start["input"] = json!({});
        }
        _ => {}
    }
    (start, deltas)
}
