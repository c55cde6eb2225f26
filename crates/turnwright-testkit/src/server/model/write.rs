//! Writes a reply in the protocol of a request.

use bytes::Bytes;
use serde_json::{Value, json};

use super::protocol::{Protocol, gemini_model};
use super::reply::Reply;
use super::state::{self, server_of};
use super::{anthropic, chat_completions, gemini, ollama, responses};
use crate::server::{Answer, ReceivedRequest, Step};

/// The parts of a request that a reply depends on.
pub(in crate::server) struct Asked {
    pub(super) protocol: Protocol,
    /// The name of the server, which is part of opaque state.
    pub(super) server: String,
    pub(super) number: usize,
    pub(super) model: String,
    pub(super) streamed: bool,
    /// Gemini streams an array without it.
    sse: bool,
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

impl Protocol {
    /// Returns the head of a stream.
    pub(in crate::server) fn stream(self) -> Answer {
        match self {
            Protocol::Ollama => Answer::status(200)
                .header("content-type", "application/x-ndjson")
                .chunked(),
            _ => Answer::event_stream(),
        }
    }

    /// Returns the line ending of its streams.
    pub(in crate::server) fn line_end(self) -> &'static str {
        match self {
            Protocol::Gemini => "\r\n",
            _ => "\n",
        }
    }

    /// Returns a frame of a stream with this data.
    pub(in crate::server) fn frame(self, name: Option<&str>, data: &str, line_end: &str) -> String {
        match (self, name) {
            (Protocol::Ollama, _) => format!("{data}{line_end}"),
            (_, None) => format!("data: {data}{line_end}{line_end}"),
            (_, Some(name)) => format!("event: {name}{line_end}data: {data}{line_end}{line_end}"),
        }
    }

    /// Returns the data of the frame after the last event, where the protocol has one.
    pub(in crate::server) fn done(self) -> Option<&'static str> {
        (self == Protocol::ChatCompletions).then_some("[DONE]")
    }
}

impl Reply {
    /// Returns the answer to a request, in the protocol of its path (Chat Completions for any other path): a stream if
    /// the request asks for one, otherwise one object. The request is not checked.
    pub fn answer(&self, request: &ReceivedRequest) -> Answer {
        self.answer_to(&Asked::of(request))
    }

    pub(super) fn answer_to(&self, asked: &Asked) -> Answer {
        let protocol = asked.protocol;
        if !asked.streamed {
            return Answer::json(200, self.object(asked));
        }
        if protocol == Protocol::Gemini && !asked.sse {
            return gemini_array(&self.events(asked));
        }
        let line_end = protocol.line_end();
        let frame = |name: Option<&str>, data: &str| {
            Step::Send(Bytes::from(protocol.frame(name, data, line_end)))
        };
        let events = self.events(asked);
        let frames = events.iter();
        let frames = frames.map(|event| frame(event.name.as_deref(), &event.data.to_string()));
        let done = protocol.done().map(|done| frame(None, done));
        protocol.stream().steps(frames).steps(done)
    }

    /// Returns the reply as one object.
    pub(super) fn object(&self, asked: &Asked) -> Value {
        match asked.protocol {
            Protocol::ChatCompletions => chat_completions::object(self, asked),
            Protocol::Responses => responses::object(self, asked),
            Protocol::Anthropic => anthropic::object(self, asked),
            Protocol::Gemini => gemini::object(self, asked),
            Protocol::Ollama => ollama::object(self, asked),
        }
    }

    /// Returns the events of a stream, without what follows the last one.
    pub(in crate::server) fn events(&self, asked: &Asked) -> Vec<Event> {
        match asked.protocol {
            Protocol::ChatCompletions => chat_completions::events(self, asked),
            Protocol::Responses => responses::events(self, asked),
            Protocol::Anthropic => anthropic::events(self, asked),
            Protocol::Gemini => gemini::events(self, asked),
            Protocol::Ollama => ollama::events(self, asked),
        }
    }
}

/// Returns a stream of Gemini without server-sent events: an array whose items arrive one by one.
fn gemini_array(events: &[Event]) -> Answer {
    let items = events.iter().enumerate();
    let items = items.map(|(place, event)| {
        let before = if place == 0 { "[" } else { ",\r\n" };
        Step::send(format!("{before}{}", event.data))
    });
    let answer = Answer::status(200)
        .header("content-type", "application/json; charset=UTF-8")
        .chunked();
    answer.steps(items).body("]")
}

/// Sets a field of an object.
pub(super) fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(name.to_owned(), value);
    }
}

/// Adds all fields of another object.
pub(super) fn merge(object: &mut Value, fields: &Value) {
    if let (Value::Object(map), Value::Object(fields)) = (object, fields) {
        let fields = fields.iter();
        map.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
    }
}
