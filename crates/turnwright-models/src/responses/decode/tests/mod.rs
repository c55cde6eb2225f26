mod calls;
mod hostile;
mod items;
mod whole;

use serde_json::{Value, json};
use turnwright_core::Error;

use crate::Protocol;
use crate::decode::{Decoder, Delta, Reply};

fn decoder() -> Decoder {
    Protocol::Responses.decoder(None)
}

fn decode(text: &str) -> Result<Reply, Error> {
    Protocol::Responses.decode(None, text.as_bytes())
}

/// Returns a stream of these events.
fn stream(events: &[Value]) -> String {
    let frame = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(frame).collect()
}

fn streamed(events: &[Value]) -> Reply {
    decode(&stream(events)).unwrap()
}

fn deltas_of(events: &[Value]) -> Vec<Delta> {
    let (mut decoder, mut deltas) = (decoder(), Vec::new());
    decoder
        .push(stream(events).as_bytes(), &mut deltas)
        .unwrap();
    decoder.finish(&mut deltas).unwrap();
    deltas
}

fn error_of(text: &str) -> Error {
    decode(text).unwrap_err()
}

fn delta(kind: &str, index: u64, text: &str) -> Value {
    json!({ "type": format!("response.{kind}.delta"), "output_index": index, "delta": text })
}

fn added(index: u64, item: Value) -> Value {
    let mut event = json!({ "type": "response.output_item.added", "output_index": index });
    event["item"] = item;
    event
}

fn done(index: u64, item: Value) -> Value {
    let mut event = json!({ "type": "response.output_item.done", "output_index": index });
    event["item"] = item;
    event
}

fn completed() -> Value {
    json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": [] } })
}

fn incomplete(reason: &str) -> Value {
    let response = json!({ "status": "incomplete", "incomplete_details": { "reason": reason } });
    json!({ "type": "response.incomplete", "response": response })
}

fn message(id: &str, text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": content })
}

fn call(id: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "f",
        "arguments": arguments, "status": "completed",
    })
}
