//! State that a provider expects back.

use bytes::Bytes;

/// Opaque state that a provider attached to its output and expects back unchanged: reasoning signatures, encrypted thoughts.
/// It is sent back byte for byte, to the protocol that wrote it alone.
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
    /// State that this protocol wrote.
    pub fn new(protocol: impl Into<String>, state: impl Into<Bytes>) -> Self {
        ProviderState {
            protocol: protocol.into(),
            state: state.into(),
        }
    }

    /// The protocol that wrote it.
    #[must_use]
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// The state, if it is this protocol's.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> Option<&Bytes> {
        (self.protocol == protocol).then_some(&self.state)
    }
}

debug_fields!(ProviderState { protocol });
