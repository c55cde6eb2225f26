//! How far content is trusted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where content comes from, the least trusted first: `a < b` says that `a` is trusted less.
///
/// There is no default: whoever makes content says where it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustTier {
    /// Anybody may have written it: a web page, a public repository.
    ThirdPartyPublic,
    /// Somebody else wrote it, and not everybody could: a mail, a user's attachment.
    ThirdPartyPrivate,
    /// The operator's own.
    FirstParty,
}

impl TrustTier {
    /// The tier as it stands in records, for example `third-party-public`.
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
