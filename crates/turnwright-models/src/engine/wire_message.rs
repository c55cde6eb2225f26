//! A message in the JSON of the protocol.

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Map, Value};
use turnwright_core::artifact::text::TokenCount;

use super::item::{UserPart, text_of};

/// A message as it is sent.
#[derive(Debug)]
pub struct WireMessage {
    pub(crate) json: String,
    pub(crate) role: Role,
    /// The ids of its calls. Set by the engine.
    pub(super) ids: Vec<String>,
    /// Whether it has calls of another server, or calls whose reasoning is lost.
    pub(crate) has_foreign_calls: bool,
    /// The id of the response that it ends, if the server stores the response.
    pub(crate) response_id: Option<String>,
    /// What the protocol needs to know about it besides its JSON.
    pub(crate) extra: Map<String, Value>,
    /// Its text, if it has media too.
    text: Option<String>,
    /// The number of media in it.
    media: u64,
    tokens: OnceLock<u64>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The system prompt.
    System,
    /// A user, another agent or the framework.
    User,
    /// The model.
    Assistant,
    /// Results of calls.
    Tool,
}

/// The estimated tokens of one media item. The real number depends on the model.
const TOKENS_PER_MEDIA: u64 = 1_000;

impl WireMessage {
    pub(crate) fn new(role: Role, message: &impl Serialize) -> Self {
        // Text and JSON values always serialise.
        Self::of_json(role, serde_json::to_string(message).unwrap_or_default())
    }

    /// Creates a message from its JSON.
    pub(crate) fn of_json(role: Role, json: String) -> Self {
        WireMessage {
            json,
            role,
            ids: Vec::new(),
            has_foreign_calls: false,
            response_id: None,
            extra: Map::new(),
            text: None,
            media: 0,
            tokens: OnceLock::new(),
        }
    }

    /// Sets what its tokens are estimated from if it has media: its text, and the number of media. Otherwise the JSON is
    /// counted.
    pub(crate) fn of_parts<'p>(
        mut self,
        parts: impl IntoIterator<Item = &'p UserPart> + Clone,
    ) -> Self {
        let media = parts.clone().into_iter().filter(|part| !part.is_text());
        self.media = media.count() as u64;
        self.text = (self.media > 0).then(|| text_of(parts));
        self
    }

    /// Returns the number of tokens. Counted once.
    pub(crate) fn tokens(&self, model: &str) -> u64 {
        let count = || {
            let text = self.text.as_ref().unwrap_or(&self.json);
            TokenCount::of_text(text, model).tokens + self.media * TOKENS_PER_MEDIA
        };
        *self.tokens.get_or_init(count)
    }
}

/// Writes a field of an object and a comma, with a value in JSON.
pub(crate) fn push_field(body: &mut String, name: &str, value: &str) {
    // Text always serialises.
    body.push_str(&serde_json::to_string(name).unwrap_or_default());
    body.push(':');
    body.push_str(value);
    body.push(',');
}

/// Writes a field of an object and a comma, with a list of JSON texts; nothing if it is empty.
pub(crate) fn push_list_field(body: &mut String, name: &str, items: &[Arc<str>]) {
    if !items.is_empty() {
        body.push_str(&format!("\"{name}\":"));
        push_list(body, items.iter());
        body.push(',');
    }
}

/// Writes a list of JSON texts.
pub(crate) fn push_list(body: &mut String, items: impl Iterator<Item: AsRef<str>>) {
    body.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            body.push(',');
        }
        body.push_str(item.as_ref());
    }
    body.push(']');
}
