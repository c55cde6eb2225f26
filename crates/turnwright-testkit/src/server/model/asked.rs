//! What a reply depends on, and the events of a stream.

use serde_json::{Value, json};

use super::protocol::{Protocol, gemini_model};
use super::reply::Reply;
use super::state::{self, server_of};
use crate::server::ReceivedRequest;

/// The parts of a request that a reply depends on.
pub(in crate::server) struct Asked {
    pub(super) protocol: Protocol,
    /// The name of the server, which is part of opaque state.
    pub(super) server: String,
    pub(super) number: usize,
    pub(super) model: String,
    pub(super) streamed: bool,
    /// Gemini streams an array without it.
    pub(super) sse: bool,
    body: Value,
}

/// One event of a stream.
pub(in crate::server) struct Event {
    /// Written as `event: …`, where the protocol has that.
    pub(in crate::server) name: Option<String>,
    pub(in crate::server) data: Value,
}

impl Asked {
    /// Reads a request. Without a protocol in its path it is one of Chat Completions.
    pub(super) fn of(request: &ReceivedRequest) -> Self {
        let protocol = Protocol::of(request).unwrap_or(Protocol::ChatCompletions);
        let body = request.json().unwrap_or_default();
        let gemini = gemini_model(request.route());
        let stream = body.get("stream").and_then(Value::as_bool);
        let model = body.get("model").and_then(Value::as_str);
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        Asked {
            protocol,
            server: server_of(request),
            number: request.number,
            model: match gemini {
                Some((model, _)) => model.to_owned(),
                None => model.unwrap_or("scripted").to_owned(),
            },
            streamed: match gemini {
                Some((_, streamed)) => streamed,
                None => stream.unwrap_or(protocol == Protocol::Ollama),
            },
            sse: query.split('&').any(|pair| pair == "alt=sse"),
            body,
        }
    }

    /// Returns a request for a stream with everything that the protocol can have.
    pub(in crate::server) fn streamed(protocol: Protocol) -> Self {
        let body = json!({
            "stream_options": { "include_usage": true },
            "include": ["reasoning.encrypted_content"],
        });
        Asked {
            protocol,
            server: "fault".to_owned(),
            number: 0,
            model: "scripted".to_owned(),
            streamed: true,
            sse: true,
            body,
        }
    }

    /// Returns the value at this place of the body.
    pub(super) fn at(&self, pointer: &str) -> Option<&Value> {
        self.body.pointer(pointer)
    }

    pub(super) fn is(&self, pointer: &str) -> bool {
        self.at(pointer) == Some(&Value::Bool(true))
    }

    /// Returns opaque state that belongs to these texts.
    pub(super) fn state(&self, kind: &str, about: &[&str]) -> String {
        state::issue(kind, &self.server, self.number, about)
    }

    /// Returns the raw blocks of a reply, with opaque state.
    pub(super) fn blocks(&self, reply: &Reply) -> Vec<Value> {
        let blocks = reply.blocks(self.protocol).iter().enumerate();
        blocks
            .map(|(place, block)| state::fill(block, &self.server, self.number, place))
            .collect()
    }
}

impl Event {
    /// Creates an event without a name.
    pub(super) fn plain(data: Value) -> Self {
        Event { name: None, data }
    }

    /// Creates an event that is named by its `type`.
    pub(super) fn typed(data: Value) -> Self {
        let name = data.get("type").and_then(Value::as_str);
        Event {
            name: name.map(str::to_owned),
            data,
        }
    }
}

/// Sets a field of an object.
pub(super) fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(name.to_owned(), value);
    }
}

/// Sets a field of an object, if there is a value.
pub(super) fn insert_some(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        insert(object, name, value.into());
    }
}

/// Adds all fields of another object.
pub(super) fn merge(object: &mut Value, fields: &Value) {
    if let (Value::Object(map), Value::Object(fields)) = (object, fields) {
        let fields = fields.iter();
        map.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
    }
}
