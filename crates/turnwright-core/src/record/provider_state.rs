//! What a provider wants back.

use std::fmt;

use bytes::Bytes;

/// State that a provider attached to what it said, and wants back as it was: reasoning signatures, encrypted thoughts.
/// Nobody else reads it, and it goes back to the protocol that wrote it alone, byte for byte.
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
    /// What this protocol wrote.
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

impl fmt::Debug for ProviderState {
    /// The state may hold secrets: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ProviderState({}, {} bytes)",
            self.protocol,
            self.state.len()
        )
    }
}
