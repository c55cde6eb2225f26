//! Trust tiers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where content comes from, least trusted first: `a < b` means that `a` is trusted less.
///
/// There is no default: content must be labelled explicitly.
///
/// ```
/// use turnwright_core::record::Retrievable;
/// use turnwright_core::trust::TrustTier;
///
/// let passage = Retrievable::text("Paris has 20 districts.", TrustTier::ThirdPartyPublic).build()?;
/// assert!(passage.tier() < TrustTier::FirstParty);
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TrustTier {
    /// Anyone may have written it, as on a web page or in a public repository.
    ThirdPartyPublic,
    /// A third party with restricted access wrote it, as in a mail or a user's attachment.
    ThirdPartyPrivate,
    /// The operator wrote it.
    FirstParty,
}

names!(TrustTier {
    ThirdPartyPublic = "third-party-public",
    ThirdPartyPrivate = "third-party-private",
    FirstParty = "first-party",
});
