//! Replies of a model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One reply of a model: reasoning, text and calls. See the [module](super) for its form in files.
///
/// ```
/// use serde_json::json;
/// use turnwright_testkit::server::chat::{Call, Reply};
///
/// let reply = Reply::default()
///     .with_reasoning("The log will tell.")
///     .with_text("Let me look.")
///     .with_call(Call::new("read_log", json!({ "day": "monday" })))
///     .usage(20, 5);
/// ```
#[must_use = "a reply does nothing until a server gives it"]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Call>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finish: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pieces: Option<usize>,
}

/// A tool call.
///
/// ```
/// use serde_json::json;
/// use turnwright_testkit::server::chat::Call;
///
/// let call = Call::new("read_log", json!({ "day": "monday" })).id("call_1");
/// // A string is sent unchanged, here as arguments that are not JSON.
/// let broken = Call::new("read_log", r#"{"day": "#);
/// ```
#[must_use = "a call does nothing until it is part of a reply"]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    pub(super) name: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

fn no_arguments() -> Value {
    json!({})
}

impl Reply {
    /// Sets the text.
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the reasoning, sent before the text.
    pub fn with_reasoning(mut self, text: impl Into<String>) -> Self {
        self.reasoning = Some(text.into());
        self
    }

    /// Adds a call.
    pub fn with_call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// Sets the finish reason: `stop`, `length`, `tool_calls`, `content_filter` or any other.
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// Sets the number of prompt and completion tokens. In a stream they are a separate chunk, sent if requested with
    /// `stream_options.include_usage`.
    pub fn usage(mut self, prompt: u64, completion: u64) -> Self {
        let counts = [
            ("prompt_tokens", prompt),
            ("completion_tokens", completion),
            ("total_tokens", prompt.saturating_add(completion)),
        ];
        let usage = counts.map(|(name, count)| (name.to_owned(), count.into()));
        self.usage = Some(usage.into_iter().collect());
        self
    }

    /// Sets the number of pieces in which each text and each call's arguments are streamed.
    pub fn pieces(mut self, pieces: usize) -> Self {
        self.pieces = Some(pieces);
        self
    }

    pub(super) fn finish_reason(&self) -> &str {
        match &self.finish {
            Some(reason) => reason,
            None if self.calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }
}

impl Call {
    /// Creates a call. Arguments that are a string are sent unchanged, anything else as its JSON text.
    pub fn new(name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Call {
            id: None,
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    /// Sets the id. Default: an id that is unique for the server.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    pub(super) fn arguments(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// Returns the id of the call at this position of the reply to that request.
    pub(super) fn id_at(&self, request: usize, place: usize) -> String {
        let made = || format!("call_{request}_{place}");
        self.id.clone().unwrap_or_else(made)
    }
}
