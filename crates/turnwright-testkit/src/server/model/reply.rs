//! Replies of a model, in the words of no protocol.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::protocol::Protocol;
use super::usage::Usage;

/// One reply of a model: reasoning, text and calls. See the [module](super) for its form in files and in each protocol.
#[must_use = "a reply does nothing until a server gives it"]
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) call_ids: Option<bool>,
    pub(super) blocks: BTreeMap<Protocol, Vec<Value>>,
    pub(super) blocked: Option<String>,
    pub(super) phase: Option<String>,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) pieces: Option<usize>,
}

/// A tool call.
///
/// ```
/// use serde_json::json;
/// use turnwright_testkit::server::model::{Call, Reply};
///
/// let call = Call::new("read_log", json!({ "day": "monday" })).id("call_1");
/// // A string is sent unchanged, here as arguments that are not JSON.
/// let broken = Call::new("read_log", r#"{"day": "#);
/// let reply = Reply::default().with_call(call).with_call(broken);
/// # let _ = reply;
/// ```
#[must_use = "a call does nothing until it is part of a reply"]
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub(super) id: Option<String>,
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

    /// Sets the text of a refusal: a `refusal` in Chat Completions and Responses; text with the stop reason `refusal` in
    /// Anthropic; a `SAFETY` finish with this message in Gemini; plain text in Ollama.
    pub fn with_refusal(mut self, text: impl Into<String>) -> Self {
        self.refusal = Some(text.into());
        self
    }

    /// Adds a call.
    pub fn with_call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// Sets whether calls have ids where the protocol allows them without. Default: they have none in Gemini, and have
    /// them in Ollama.
    pub fn call_ids(mut self, ids: bool) -> Self {
        self.call_ids = Some(ids);
        self
    }

    /// Adds a raw block that only this protocol sends, between the reasoning and the text: a content block of
    /// Anthropic, an output item of Responses, a part of Gemini. In Chat Completions and Ollama its fields become
    /// fields of the message. The text `$STATE` inside of it is replaced by opaque state of the server.
    pub fn with_block(mut self, protocol: Protocol, block: Value) -> Self {
        self.blocks.entry(protocol).or_default().push(block);
        self
    }

    /// Sends no content, because the prompt was blocked: `promptFeedback.blockReason` in Gemini, otherwise a reply
    /// without content whose finish reason is `content_filter`.
    pub fn blocked(mut self, reason: impl Into<String>) -> Self {
        self.blocked = Some(reason.into());
        self
    }

    /// Sets the `phase` of the message in Responses: `commentary` or `final_answer`.
    pub fn phase(mut self, phase: impl Into<String>) -> Self {
        self.phase = Some(phase.into());
        self
    }

    /// Sets the finish reason. `stop`, `length`, `tool_calls` and `content_filter` are sent as the protocol's own word.
    /// Any other is sent unchanged, for example `pause_turn` or `MALFORMED_FUNCTION_CALL`.
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// Sets the number of all input and output tokens. In a stream of Chat Completions they are a separate chunk, sent
    /// if requested with `stream_options.include_usage`.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        let usage = self.usage.unwrap_or_default();
        self.usage = Some(Usage {
            input,
            output,
            ..usage
        });
        self
    }

    /// Sets how many of the input tokens were read from the prompt cache.
    pub fn cached(mut self, tokens: u64) -> Self {
        self.usage.get_or_insert_default().cached = tokens;
        self
    }

    /// Sets how many of the input tokens were written to the prompt cache.
    pub fn cache_written(mut self, tokens: u64) -> Self {
        self.usage.get_or_insert_default().cache_written = tokens;
        self
    }

    /// Sets how many of the output tokens are reasoning.
    pub fn reasoning_tokens(mut self, tokens: u64) -> Self {
        self.usage.get_or_insert_default().reasoning = tokens;
        self
    }

    /// Sets the number of pieces in which each text and each call's arguments are streamed. Gemini and Ollama send the
    /// arguments of a call in one piece.
    pub fn pieces(mut self, pieces: usize) -> Self {
        self.pieces = Some(pieces);
        self
    }

    /// Returns the neutral finish reason, or the one that the script gives.
    pub(super) fn finish_reason(&self) -> &str {
        match &self.finish {
            Some(reason) => reason,
            None if self.blocked.is_some() => "content_filter",
            None if self.calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }

    /// Splits a text into the pieces of a stream.
    pub(super) fn cut<'a>(&self, text: &'a str) -> Vec<&'a str> {
        cut(text, self.pieces.unwrap_or(4))
    }

    pub(super) fn blocks(&self, protocol: Protocol) -> &[Value] {
        self.blocks.get(&protocol).map_or(&[], Vec::as_slice)
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

    /// Returns the arguments for a protocol that sends them as an object. Text that is no JSON stays text.
    pub(super) fn arguments_value(&self) -> Value {
        match &self.arguments {
            Value::String(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into())
            }
            other => other.clone(),
        }
    }

    /// Returns the id of the call at this position of the reply to that request.
    pub(super) fn id_at(&self, prefix: &str, request: usize, place: usize) -> String {
        let made = || format!("{prefix}_{request}_{place}");
        self.id.clone().unwrap_or_else(made)
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
