//! State that a provider expects back.

use bytes::Bytes;

/// Opaque state that a provider attached to its output and expects back unchanged, such as reasoning signatures or encrypted
/// thoughts. It is only sent back to the protocol that wrote it.
///
/// ```
/// use turnwright_core::record::ProviderState;
///
/// let state = ProviderState::new("chat_completions", r#"{"signature": "…"}"#);
/// assert!(state.for_protocol("chat_completions").is_some());
/// assert!(state.for_protocol("messages").is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderState {
    protocol: String,
    state: Bytes,
}

impl ProviderState {
    /// Creates the state of a protocol.
    pub fn new(protocol: impl Into<String>, state: impl Into<Bytes>) -> Self {
        ProviderState {
            protocol: protocol.into(),
            state: state.into(),
        }
    }

    /// Returns the protocol that wrote it.
    #[must_use]
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// Returns the state, if it belongs to this protocol.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> Option<&Bytes> {
        (self.protocol == protocol).then_some(&self.state)
    }
}

debug_fields!(ProviderState { protocol });
