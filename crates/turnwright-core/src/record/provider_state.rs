//! State that a provider expects back.

use std::sync::Arc;

use bytes::Bytes;

use super::stored::{part, stored};

stored! {
    StoredState as "ProviderState";
    /// Opaque state that a provider attached to its output and expects back unchanged, such as reasoning signatures or encrypted
    /// thoughts. It is only sent back to the server that wrote it: the same protocol at the same address.
    ///
    /// ```
    /// use turnwright_core::record::ProviderState;
    ///
    /// let state = ProviderState::new("anthropic", "https://api.example.com", r#"{"signature": "…"}"#);
    /// assert!(state.for_server("anthropic", "https://api.example.com").is_some());
    /// assert!(state.for_server("anthropic", "https://proxy.example.com").is_none());
    /// assert!(state.for_server("gemini", "https://api.example.com").is_none());
    /// ```
    #[derive(Clone, PartialEq, Eq)]
    pub struct ProviderState {
        protocol: Arc<str>,
        #[serde(default, skip_serializing_if = "str::is_empty")]
        address: Arc<str>,
        #[serde(with = "part")]
        state: Bytes,
    }
}

impl ProviderState {
    /// Creates the state of a protocol and of the server at this address. The address may be empty if the protocol has only one
    /// server.
    pub fn new(
        protocol: impl Into<Arc<str>>,
        address: impl Into<Arc<str>>,
        state: impl Into<Bytes>,
    ) -> Self {
        ProviderState {
            protocol: protocol.into(),
            address: address.into(),
            state: state.into(),
        }
    }

    /// Returns the protocol that wrote it.
    #[must_use]
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// Returns the address of the server that wrote it. Empty if it is not known.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the state, if this protocol and the server at this address wrote it.
    #[must_use]
    pub fn for_server(&self, protocol: &str, address: &str) -> Option<&Bytes> {
        (*self.protocol == *protocol && *self.address == *address).then_some(&self.state)
    }
}

debug_fields!(ProviderState { protocol });
