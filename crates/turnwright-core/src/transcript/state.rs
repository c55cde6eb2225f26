//! What is kept with the records that came of one response.

use crate::ids::new_id;
use crate::record::ProviderState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is kept with every record that came of one response of a model: which response it was, so that its parts find
/// together again, where it came from, and what the provider wants back.
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
    /// A response of the server at this address.
    pub fn new(from: impl Into<String>) -> Self {
        ResponseState {
            response: new_id(),
            from: from.into(),
            cut: None,
            fields: Map::new(),
        }
    }

    /// It is not whole, and why.
    #[must_use]
    pub fn cut(mut self, why: impl Into<String>) -> Self {
        self.cut = Some(why.into());
        self
    }

    /// The same response, with fields that the provider wants back with one of its records.
    #[must_use]
    pub fn with(&self, fields: Map<String, Value>) -> Self {
        ResponseState {
            fields,
            ..self.clone()
        }
    }

    /// As the state of a protocol.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> ProviderState {
        // Strings and JSON values can always be written.
        let json = serde_json::to_vec(self).unwrap_or_default();
        ProviderState::new(protocol, json)
    }

    /// What a protocol kept.
    #[must_use]
    pub fn read(state: Option<&ProviderState>, protocol: &str) -> Option<Self> {
        serde_json::from_slice(state?.for_protocol(protocol)?).ok()
    }

    /// Which response it was.
    #[must_use]
    pub(crate) fn response(&self) -> &str {
        &self.response
    }

    /// Whether it came from this address: only there are its fields understood.
    #[must_use]
    pub fn is_from(&self, address: &str) -> bool {
        self.from == address
    }

    /// Why the response was not whole, if it was not.
    #[must_use]
    pub fn why_cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// What the provider wants back.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

debug_fields!(ResponseState { response, cut });
