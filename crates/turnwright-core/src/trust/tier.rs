//! How far content is trusted.

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

names!(TrustTier {
    ThirdPartyPublic = "third-party-public",
    ThirdPartyPrivate = "third-party-private",
    FirstParty = "first-party",
});
