//! Writes a reply in the protocol.

use serde_json::{Value, json};

use super::reply::Reply;
use crate::server::{Answer, ReceivedRequest};

/// The parts of a request that a reply depends on.
pub(super) struct Asked {
    number: usize,
    model: Value,
    stream: bool,
    usage: bool,
}

impl Asked {
    pub(super) fn of(request: &ReceivedRequest) -> Self {
        let body = request.json().unwrap_or_default();
        let is = |pointer| body.pointer(pointer) == Some(&Value::Bool(true));
        Asked {
            number: request.number,
            model: match body.get("model") {
                Some(model @ Value::String(_)) => model.clone(),
                _ => "scripted".into(),
            },
            stream: is("/stream"),
            usage: is("/stream_options/include_usage"),
        }
    }

    fn envelope(&self, object: &str, choices: &Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.number),
            "object": object,
            // No clock: the same script gives the same bytes.
            "created": 1_700_000_000,
            "model": self.model,
            "choices": choices,
        })
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        self.envelope("chat.completion.chunk", &json!([choice]))
    }
}

/// Returns `true` if a request asks for a stream.
pub(super) fn streams(request: &ReceivedRequest) -> bool {
    Asked::of(request).stream
}

impl Reply {
    /// Returns the answer to a request: a stream if it has `"stream": true`, otherwise one object.
    pub fn answer(&self, request: &ReceivedRequest) -> Answer {
        let asked = Asked::of(request);
        if !asked.stream {
            return Answer::json(200, self.object(&asked));
        }
        let chunks = self.chunks(&asked).into_iter();
        let done = std::iter::once("[DONE]".to_owned());
        Answer::sse(chunks.map(|chunk| chunk.to_string()).chain(done))
    }

    /// Returns the text of each event of a stream, without `[DONE]`.
    pub(in crate::server) fn events(&self) -> Vec<String> {
        let asked = Asked {
            number: 0,
            model: "scripted".into(),
            stream: true,
            usage: true,
        };
        self.chunks(&asked).iter().map(Value::to_string).collect()
    }

    fn object(&self, asked: &Asked) -> Value {
        let mut message = json!({ "role": "assistant", "content": self.text });
        if let Some(reasoning) = &self.reasoning {
            insert(&mut message, "reasoning_content", json!(reasoning));
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter().enumerate();
            let calls = calls.map(|(place, call)| {
                json!({
                    "id": call.id_at(asked.number, place),
                    "type": "function",
                    "function": { "name": call.name, "arguments": call.arguments() },
                })
            });
            insert(&mut message, "tool_calls", calls.collect());
        }
        let finish = self.finish_reason();
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        let mut object = asked.envelope("chat.completion", &json!([choice]));
        if let Some(usage) = &self.usage {
            insert(&mut object, "usage", json!(usage));
        }
        object
    }

    fn chunks(&self, asked: &Asked) -> Vec<Value> {
        let pieces = self.pieces.unwrap_or(4);
        let first = json!({ "role": "assistant", "content": "" });
        let mut chunks = vec![asked.chunk(&first, None)];
        for (name, text) in [
            ("reasoning_content", &self.reasoning),
            ("content", &self.text),
        ] {
            for piece in cut(text.as_deref().unwrap_or_default(), pieces) {
                chunks.push(asked.chunk(&json!({ name: piece }), None));
            }
        }
        for (place, call) in self.calls.iter().enumerate() {
            let begun = json!({
                "index": place,
                "id": call.id_at(asked.number, place),
                "type": "function",
                "function": { "name": call.name, "arguments": "" },
            });
            chunks.push(asked.chunk(&json!({ "tool_calls": [begun] }), None));
            for piece in cut(&call.arguments(), pieces) {
                let more = json!({ "index": place, "function": { "arguments": piece } });
                chunks.push(asked.chunk(&json!({ "tool_calls": [more] }), None));
            }
        }
        chunks.push(asked.chunk(&json!({}), Some(self.finish_reason())));
        if let (Some(usage), true) = (&self.usage, asked.usage) {
            let mut chunk = asked.envelope("chat.completion.chunk", &json!([]));
            insert(&mut chunk, "usage", json!(usage));
            chunks.push(chunk);
        }
        chunks
    }
}

fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(name.to_owned(), value);
    }
}

/// Splits a text between characters into pieces of about equal length: at most this many, none of them empty.
pub(super) fn cut(text: &str, pieces: usize) -> Vec<&str> {
    let pieces = pieces.clamp(1, text.len().max(1));
    let mut cut = Vec::with_capacity(pieces);
    let mut rest = text;
    for left in (1..=pieces).rev() {
        let mut at = rest.len() / left;
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, after) = rest.split_at(at);
        if !piece.is_empty() {
            cut.push(piece);
        }
        rest = after;
    }
    cut
}
