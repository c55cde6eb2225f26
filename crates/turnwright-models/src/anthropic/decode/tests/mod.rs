mod blocks;
mod events;

use serde_json::{Value, json};
use turnwright_core::Error;

use crate::Protocol;
use crate::decode::Reply;

fn decode(events: &[Value]) -> Result<Reply, Error> {
    let text: String = events
        .iter()
        .map(|event| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        })
        .collect();
    Protocol::Anthropic.decode(Some("text/event-stream"), text.as_bytes())
}

fn reply(events: &[Value]) -> Reply {
    decode(events).unwrap()
}

fn body(body: &Value) -> Result<Reply, Error> {
    Protocol::Anthropic.decode(Some("application/json"), body.to_string().as_bytes())
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
fn start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn with_end(mut events: Vec<Value>, reason: &str) -> Reply {
    events.extend(end(reason));
    reply(&events)
}

fn layout(reply: &Reply) -> &Value {
    reply.state.get("layout").unwrap_or(&Value::Null)
}
