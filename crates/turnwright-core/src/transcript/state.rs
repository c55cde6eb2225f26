//! State that is stored with the records of a model response.

use crate::ids::new_id;
use crate::record::ProviderState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// State that is stored with every record of a model response: the id of the response, so that its records can be grouped again;
/// its origin; and fields that the provider expects back.
///
/// ```
/// use turnwright_core::Message;
/// use turnwright_core::transcript::ResponseState;
///
/// let state = ResponseState::new("https://models.example/v1").cut("length");
/// let message = Message::assistant("Once upon a").provider_state(state.for_protocol("chat")).build()?;
///
/// let read = ResponseState::read(message.provider_state(), "chat").unwrap();
/// assert!(read.is_from("https://models.example/v1"));
/// assert_eq!(read.why_cut(), Some("length"));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct ResponseState {
    response: String,
    from: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    fields: Map<String, Value>,
}

impl ResponseState {
    /// Creates the state for a response of the server at this address.
    pub fn new(from: impl Into<String>) -> Self {
        ResponseState {
            response: new_id(),
            from: from.into(),
            cut: None,
            fields: Map::new(),
        }
    }

    /// Marks the response as truncated, with the reason.
    #[must_use]
    pub fn cut(mut self, why: impl Into<String>) -> Self {
        self.cut = Some(why.into());
        self
    }

    /// Returns the state of the same response with fields that the provider expects back with one of its records.
    #[must_use]
    pub fn with(&self, fields: Map<String, Value>) -> Self {
        ResponseState {
            fields,
            ..self.clone()
        }
    }

    /// Encodes it as the state of a protocol.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> ProviderState {
        // Strings and JSON values can always be serialised.
        let json = serde_json::to_vec(self).unwrap_or_default();
        ProviderState::new(protocol, json)
    }

    /// Decodes the state of a protocol.
    #[must_use]
    pub fn read(state: Option<&ProviderState>, protocol: &str) -> Option<Self> {
        serde_json::from_slice(state?.for_protocol(protocol)?).ok()
    }

    /// Returns the id of the response.
    #[must_use]
    pub(crate) fn response(&self) -> &str {
        &self.response
    }

    /// Returns whether the response came from this address. Its fields are valid only there.
    #[must_use]
    pub fn is_from(&self, address: &str) -> bool {
        self.from == address
    }

    /// Returns why the response was truncated, if it was.
    #[must_use]
    pub fn why_cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Returns the fields that the provider expects back.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

debug_fields!(ResponseState { response, cut });
