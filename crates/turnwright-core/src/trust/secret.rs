//! What content cannot know.

use std::fmt;
use std::io;

/// The secret of one conversation, under which its envelopes get their codes.
///
/// Whoever keeps the conversation keeps it too, apart from the records: it is never exported, logged or shown, and so
/// can neither be serialised nor printed.
#[derive(Clone)]
pub struct ConversationSecret([u8; 32]);

impl ConversationSecret {
    /// A new one, from the operating system.
    ///
    /// # Errors
    ///
    /// Where the system has no randomness to give, which no conversation can do without.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(ConversationSecret(bytes))
    }

    /// One that was kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        ConversationSecret(bytes)
    }

    /// The secret itself, for whoever keeps it.
    #[must_use]
    pub const fn expose(&self) -> [u8; 32] {
        self.0
    }

    pub(super) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for ConversationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConversationSecret(..)")
    }
}
