mod bounds;
mod calls;
mod collecting;
mod content;
mod counting;
mod errors;
mod framing;

use serde_json::{Value, json};
use turnwright_core::Error;

use crate::Protocol;
use crate::decode::{Decoder, Delta, Reply};

fn decoder(content_type: Option<&str>) -> Decoder {
    Protocol::ChatCompletions.decoder(content_type)
}

fn decode(content_type: Option<&str>, body: &[u8]) -> Result<Reply, Error> {
    Protocol::ChatCompletions.decode(content_type, body)
}

/// Returns a stream of these chunks, with its end.
fn stream(chunks: &[Value]) -> String {
    let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    events.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

fn streamed(chunks: &[Value]) -> Reply {
    decode(Some("text/event-stream"), stream(chunks).as_bytes()).unwrap()
}

fn body(body: &Value) -> Reply {
    decode(Some("application/json"), body.to_string().as_bytes()).unwrap()
}

/// Returns a chunk with this delta.
fn delta(delta: Value) -> Value {
    let mut chunk = json!({ "choices": [{ "index": 0 }] });
    chunk["choices"][0]["delta"] = delta;
    chunk
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

/// Returns a chunk with these call fragments.
fn calls(pieces: Value) -> Value {
    let mut chunk = delta(json!({}));
    chunk["choices"][0]["delta"]["tool_calls"] = pieces;
    chunk
}

/// Returns a body with this message.
fn message(message: Value) -> Value {
    let mut body = json!({ "choices": [{ "index": 0, "finish_reason": "stop" }] });
    body["choices"][0]["message"] = message;
    body
}

/// Returns the names and arguments of a reply's calls.
fn called(reply: &Reply) -> Vec<(&str, &str)> {
    let calls = reply.tool_calls.iter();
    calls
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect()
}

fn ids(reply: &Reply) -> Vec<Option<&str>> {
    let calls = reply.tool_calls.iter();
    calls.map(|call| call.id.as_deref()).collect()
}

fn error_of(content_type: Option<&str>, body: &str) -> Error {
    decode(content_type, body.as_bytes()).unwrap_err()
}

fn deltas_of(body: &str) -> Vec<Delta> {
    let mut deltas = Vec::new();
    let mut decoder = decoder(None);
    decoder.push(body.as_bytes(), &mut deltas).unwrap();
    decoder.finish(&mut deltas).unwrap();
    deltas
}
