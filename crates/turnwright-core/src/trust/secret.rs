//! What content cannot know.

use std::fmt;
use std::io;
use std::sync::OnceLock;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

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

    /// The one that this process uses where nobody gave another.
    ///
    /// # Errors
    ///
    /// As [`ConversationSecret::random`].
    pub(crate) fn of_process() -> io::Result<Self> {
        static SECRET: OnceLock<ConversationSecret> = OnceLock::new();
        if let Some(secret) = SECRET.get() {
            return Ok(secret.clone());
        }
        let made = ConversationSecret::random()?;
        Ok(SECRET.get_or_init(|| made).clone())
    }

    /// The secret of one conversation among several that share this one.
    #[must_use]
    pub(crate) fn for_conversation(&self, name: &str) -> Self {
        // A key of any length is taken.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return self.clone();
        };
        mac.update(b"conversation:");
        mac.update(name.as_bytes());
        ConversationSecret(mac.finalize().into_bytes().into())
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
