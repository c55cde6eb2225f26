//! Writes a reply in the protocol of a request.

use serde_json::Value;

use super::asked::{Asked, Event};
use super::protocol::Protocol;
use super::reply::Reply;
use super::{anthropic, chat_completions, gemini, ollama, responses};
use crate::server::{Answer, ReceivedRequest, Step};

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

    /// Returns the frames of these events.
    pub(in crate::server) fn frames(self, events: &[Event], line_end: &str) -> Vec<Step> {
        let frames = events.iter().map(|event| {
            let (name, data) = (event.name.as_deref(), event.data.to_string());
            Step::send(self.frame(name, &data, line_end))
        });
        frames.collect()
    }

    /// Returns the frame after the last event, where the protocol has one.
    pub(in crate::server) fn done(self, line_end: &str) -> Option<Step> {
        let has_one = self == Protocol::ChatCompletions;
        has_one.then(|| Step::send(self.frame(None, "[DONE]", line_end)))
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
        let frames = protocol.frames(&self.events(asked), line_end);
        protocol
            .stream()
            .steps(frames)
            .steps(protocol.done(line_end))
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
