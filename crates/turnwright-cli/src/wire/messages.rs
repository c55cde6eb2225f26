//! The messages of a recorded request, as the start of a turn.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use turnwright::artifact::{ArtifactKind, SpooledArtifact};
use turnwright::record::Record;
use turnwright::record::ToolResults;
use turnwright::{Message, ToolCall};

/// The start of a turn.
#[derive(Default)]
pub(super) struct Beginning {
    /// The system prompt.
    pub(super) system: String,
    /// Earlier messages and calls.
    pub(super) before: Vec<Record>,
    /// The new message of the user; `None` if the model continues.
    pub(super) input: Option<String>,
}

impl Beginning {
    pub(super) fn of(messages: &[Value]) -> Self {
        let mut beginning = Beginning::default();
        let mut before = messages;
        if let Some((last, rest)) = messages.split_last()
            && role(last) == "user"
        {
            beginning.input = Some(words(last)).filter(|words| !words.is_empty());
            before = rest;
        }
        for (place, message) in before.iter().enumerate() {
            match role(message) {
                "system" | "developer" => {
                    if !beginning.system.is_empty() {
                        beginning.system.push_str("\n\n");
                    }
                    beginning.system.push_str(&words(message));
                }
                "user" => beginning.add(Message::user(words(message)).build()),
                "assistant" => {
                    let after = before.get(place + 1..).unwrap_or_default();
                    beginning.add_reply(message, after, place);
                }
                // Results are stored with their calls.
                _ => {}
            }
        }
        beginning
    }

    /// Skips messages that are not valid records: they are not compared with the recording.
    fn add(&mut self, message: Result<Arc<Message>, turnwright::Error>) {
        self.before.extend(message.map(Record::Message));
    }

    /// A message of the model, with its calls and their results.
    fn add_reply(&mut self, message: &Value, after: &[Value], place: usize) {
        let text = words(message);
        if !text.is_empty() {
            self.add(Message::assistant(text).build());
        }
        let answers: Vec<(&str, String)> = answers(after).collect();
        for (at, call) in list(message, "tool_calls").iter().enumerate() {
            let id = text_of(call, "id");
            let by_id = answers.iter().find(|(answers, _)| *answers == id);
            let answer = by_id.or_else(|| answers.get(at));
            let function = call.get("function").unwrap_or(&Value::Null);
            let answer = answer.map_or("", |(_, text)| text).to_owned();
            let artifact = SpooledArtifact::in_memory(answer, ArtifactKind::TEXT);
            // In the order of the conversation, with the calls of one reply together.
            let when = SystemTime::UNIX_EPOCH + Duration::from_secs(place as u64 * 10);
            let done = when + Duration::from_secs(5);
            let arguments = text_of(function, "arguments").to_owned();
            let record = ToolCall::builder(text_of(function, "name"), arguments)
                .provider_id(id)
                .results(ToolResults::Artifacts(vec![artifact]))
                .inline(true)
                .created_at(when)
                .updated_at(done)
                .completed_at(done)
                .build();
            self.before.extend(record.map(Record::ToolCall));
        }
    }
}

/// The leading results of calls: the id of each call, and its result.
pub(super) fn answers(messages: &[Value]) -> impl Iterator<Item = (&str, String)> {
    let answers = messages.iter().take_while(|item| role(item) == "tool");
    answers.map(|item| (text_of(item, "tool_call_id"), words(item)))
}

/// The messages of a request.
pub(super) fn messages(request: &Value) -> &[Value] {
    list(request, "messages")
}

pub(super) fn role(message: &Value) -> &str {
    text_of(message, "role")
}

/// A list in an object; empty if there is none.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// A text in an object; empty if there is none.
pub(super) fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a message. Other parts are replaced by their type.
pub(super) fn words(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().map(|part| match part.get("text") {
                Some(Value::String(text)) => text.clone(),
                _ => format!("[{}]", text_of(part, "type")),
            });
            parts.collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    }
}
