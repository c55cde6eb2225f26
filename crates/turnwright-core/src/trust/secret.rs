//! The secret from which the codes of envelopes are derived.

use std::fmt;
use std::io;
use std::sync::OnceLock;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// The secret of one conversation, from which the codes of its envelopes are derived.
///
/// Store it separately from the records. It must not be exported, logged or shown, so it cannot be serialised or printed.
///
/// ```
/// use turnwright_core::trust::ConversationSecret;
///
/// let secret = ConversationSecret::random()?;
/// let bytes = secret.expose(); // store these
/// let restored = ConversationSecret::from_bytes(bytes);
/// assert_eq!(restored.expose(), bytes);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct ConversationSecret([u8; 32]);

impl ConversationSecret {
    /// Generates a random secret.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot provide random bytes.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(ConversationSecret(bytes))
    }

    /// Returns the secret that this process uses if none is configured.
    ///
    /// # Errors
    /// See [`ConversationSecret::random`].
    pub(crate) fn of_process() -> io::Result<Self> {
        static SECRET: OnceLock<ConversationSecret> = OnceLock::new();
        if let Some(secret) = SECRET.get() {
            return Ok(secret.clone());
        }
        let made = ConversationSecret::random()?;
        Ok(SECRET.get_or_init(|| made).clone())
    }

    /// Derives the secret of a conversation from this one.
    #[must_use]
    pub(crate) fn for_conversation(&self, name: &str) -> Self {
        // HMAC accepts keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return self.clone();
        };
        mac.update(b"conversation:");
        mac.update(name.as_bytes());
        ConversationSecret(mac.finalize().into_bytes().into())
    }

    /// Creates a secret from stored bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        ConversationSecret(bytes)
    }

    /// Returns the bytes of the secret, so that they can be stored.
    #[must_use]
    pub const fn expose(&self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Debug for ConversationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConversationSecret(..)")
    }
}
