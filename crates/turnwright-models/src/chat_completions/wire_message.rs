//! A message in the JSON of the protocol.

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::{Map, Value};
use turnwright_core::artifact::text::TokenCount;

/// A message as it is sent.
#[derive(Debug)]
pub(super) struct WireMessage {
    pub(super) json: String,
    pub(super) role: Role,
    /// The ids of its calls.
    pub(super) ids: Vec<String>,
    /// Its text, if it has media too.
    pub(super) text: Option<String>,
    /// The number of media in it.
    pub(super) media: u64,
    tokens: OnceLock<u64>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// The estimated tokens of one media item. The real number depends on the model.
const TOKENS_PER_MEDIA: u64 = 1_000;

impl WireMessage {
    pub(super) fn new(role: Role, message: &impl Serialize) -> Self {
        WireMessage {
            // Text and JSON values always serialise.
            json: serde_json::to_string(message).unwrap_or_default(),
            role,
            ids: Vec::new(),
            text: None,
            media: 0,
            tokens: OnceLock::new(),
        }
    }

    /// A message of text.
    pub(super) fn text(role: Role, name: &str, content: &str) -> Self {
        #[derive(Serialize)]
        struct TextMessage<'a> {
            role: &'a str,
            content: &'a str,
        }
        WireMessage::new(
            role,
            &TextMessage {
                role: name,
                content,
            },
        )
    }

    /// Returns the number of tokens. Counted once.
    pub(super) fn tokens(&self, model: &str) -> u64 {
        let count = || {
            let text = self.text.as_ref().unwrap_or(&self.json);
            TokenCount::of_text(text, model).tokens + self.media * TOKENS_PER_MEDIA
        };
        *self.tokens.get_or_init(count)
    }
}

/// The result of a call.
#[derive(Serialize)]
pub(super) struct ToolMessage<'a> {
    pub(super) role: &'static str,
    pub(super) tool_call_id: &'a str,
    pub(super) content: &'a str,
}

/// A response of the model.
#[derive(Serialize)]
pub(super) struct AssistantMessage<'a> {
    pub(super) role: &'static str,
    /// `null` next to calls, as in OpenAI's own responses. Every server accepts that.
    pub(super) content: Option<Value>,
    #[serde(flatten)]
    pub(super) reasoning: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<WireCall<'a>>,
}

#[derive(Serialize)]
pub(super) struct WireCall<'a> {
    pub(super) id: &'a str,
    pub(super) r#type: &'static str,
    pub(super) function: WireFunction,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct WireFunction {
    pub(super) name: String,
    pub(super) arguments: String,
}
