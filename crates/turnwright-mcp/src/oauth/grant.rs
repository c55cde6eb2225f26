//! What an authorization server has granted.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Tokens are renewed this many seconds before they expire.
const MARGIN: u64 = 30;

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// Returns the text itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// How this program is known to an authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientIdentity {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Secret>,
    /// The redirect URI for which it was registered.
    pub(super) redirect_uri: String,
}

/// The tokens for one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    /// The authorization server. The tokens and the client are sent to no other.
    pub(super) issuer: String,
    pub(super) client: ClientIdentity,
    pub(super) access_token: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<Secret>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
}

impl Grant {
    /// Returns whether the access token has expired, or is about to.
    pub(super) fn is_expiring(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= now() + MARGIN)
    }

    /// Returns whether the access token has expired.
    pub(super) fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= now())
    }
}

/// Returns the seconds since 1970.
pub(super) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
