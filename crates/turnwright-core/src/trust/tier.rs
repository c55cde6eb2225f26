//! How far content can be trusted, by where it comes from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where content comes from, and so how far it can be trusted. Ordered: what is trusted least is least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustTier {
    /// Anybody may have written it.
    ThirdPartyPublic,
    /// Somebody known wrote it, who is not you.
    ThirdPartyPrivate,
    /// You wrote it.
    FirstParty,
}

impl TrustTier {
    /// The tier as it stands in records and envelopes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TrustTier::ThirdPartyPublic => "third-party-public",
            TrustTier::ThirdPartyPrivate => "third-party-private",
            TrustTier::FirstParty => "first-party",
        }
    }
}

impl fmt::Display for TrustTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
