//! A recorded request, independent of its protocol.

mod anthropic;
mod chat_completions;
mod conversation;
mod gemini;
mod ollama;
mod responses;

use serde_json::Value;
use turnwright::models::Protocol;
use turnwright_testkit::cassette::Exchange;

pub(super) use conversation::{Entry, RecordedCall, RecordedResult};

use conversation::Conversation;

/// A recorded request.
#[derive(Debug, Default)]
pub(super) struct RecordedRequest {
    /// The model; empty if the request does not name one.
    pub(super) model: String,
    pub(super) streams: bool,
    /// The system prompt.
    pub(super) system: String,
    pub(super) entries: Vec<Entry>,
    pub(super) tools: Vec<OfferedTool>,
    /// The id of the response that the request continues without repeating the conversation.
    pub(super) previous_response: Option<String>,
}

/// A tool of a recorded request.
#[derive(Debug)]
pub(super) enum OfferedTool {
    /// A function that the client runs.
    Function {
        name: String,
        description: String,
        /// The schema of its arguments, if there is one.
        schema: Option<Value>,
    },
    /// A tool that runs at the provider, with its type.
    Provider(String),
}

impl RecordedRequest {
    /// Reads a request. Parts that are not of this protocol are skipped.
    pub(super) fn of(protocol: Protocol, exchange: &Exchange) -> Self {
        let body = &exchange.request;
        let mut request = RecordedRequest {
            model: text_of(body, "model").to_owned(),
            streams: body.get("stream") == Some(&true.into()),
            ..RecordedRequest::default()
        };
        match protocol {
            Protocol::Responses => responses::read(body, &mut request),
            Protocol::Anthropic => anthropic::read(body, &mut request),
            Protocol::Gemini => gemini::read(body, &exchange.path, &mut request),
            Protocol::Ollama => ollama::read(body, &mut request),
            _ => chat_completions::read(body, &mut request),
        }
        request
    }

    /// Appends to the system prompt.
    fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push_str("\n\n");
        }
        self.system.push_str(text);
    }
}

impl OfferedTool {
    /// Returns a function with the schema in one of these fields.
    fn function(described: &Value, schema: &[&str]) -> Self {
        let mut found = schema.iter().filter_map(|name| described.get(*name));
        OfferedTool::Function {
            name: text_of(described, "name").to_owned(),
            description: text_of(described, "description").to_owned(),
            schema: found.find(|schema| !schema.is_null()).cloned(),
        }
    }
}

/// A list in an object; empty if there is none.
fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// A text in an object; empty if there is none.
fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A text in an object, unless it is empty.
fn id_of(value: &Value, name: &str) -> Option<String> {
    Some(text_of(value, name).to_owned()).filter(|text| !text.is_empty())
}

/// The text of a message: a string, or the texts of a list. Other parts are replaced by their type.
fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => joined(parts.iter()),
        _ => String::new(),
    }
}

/// The text of parts. Those that have none are replaced by their type.
fn joined<'v>(parts: impl Iterator<Item = &'v Value>) -> String {
    let parts = parts.map(
        |part| match part.get("text").or_else(|| part.get("refusal")) {
            Some(Value::String(text)) => text.clone(),
            _ => format!("[{}]", text_of(part, "type")),
        },
    );
    parts.collect::<Vec<_>>().join("\n\n")
}

/// The arguments of a call as text: a string, or an object.
fn arguments(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => "{}".to_owned(),
        Some(value) => value.to_string(),
    }
}
