//! How tainted a prompt is.

use std::collections::BTreeSet;

use crate::media::Media;
use crate::record::{Author, Message, Retrievable, Retrieved, ToolCall, ToolResults};
use crate::trust::TrustTier;

/// Every tier that stands in a prompt.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::record::Retrievable;
/// use turnwright_core::trust::TrustTier;
///
/// let ctx = DispatchContext::standalone();
/// assert!(!ctx.taint().is_tainted());
/// ctx.records().add(Retrievable::text("From a wiki.", TrustTier::ThirdPartyPublic).build()?);
/// assert_eq!(ctx.taint().least(), Some(TrustTier::ThirdPartyPublic));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    tiers: BTreeSet<TrustTier>,
}

impl Taint {
    /// The tiers, the least trusted first.
    pub fn tiers(&self) -> impl Iterator<Item = TrustTier> + '_ {
        self.tiers.iter().copied()
    }

    /// The least trusted of them, if there is content at all.
    #[must_use]
    pub fn least(&self) -> Option<TrustTier> {
        self.tiers.first().copied()
    }

    /// Whether this tier stands in the prompt.
    #[must_use]
    pub fn contains(&self, tier: TrustTier) -> bool {
        self.tiers.contains(&tier)
    }

    /// Whether anything in the prompt was written by somebody else.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.least()
            .is_some_and(|tier| tier < TrustTier::FirstParty)
    }

    /// Adds content of this tier.
    pub fn add(&mut self, tier: TrustTier) {
        self.tiers.insert(tier);
    }

    /// Adds a media and what was derived from it.
    pub(crate) fn add_media(&mut self, media: &Media) {
        self.add(media.tier());
        for derived in media.stash().values() {
            self.add(derived.trust_tier);
        }
    }

    /// Adds what came of a call: its media by their own tiers, its text by whether its tool is trusted. A handle is not,
    /// whoever made it.
    pub(crate) fn add_tool_call(&mut self, call: &ToolCall) {
        match call.results() {
            // The framework's own words.
            ToolResults::Nothing | ToolResults::Refusal(_) => {}
            ToolResults::Media(media) => media.iter().for_each(|media| self.add_media(media)),
            ToolResults::Text(_) | ToolResults::Artifacts(_) | ToolResults::Failure(_) => {
                self.add(match call.is_trusted() && call.is_inline() {
                    true => TrustTier::FirstParty,
                    false => TrustTier::ThirdPartyPublic,
                });
            }
        }
    }

    /// Adds something that was looked up.
    pub(crate) fn add_retrievable(&mut self, found: &Retrievable) {
        self.add(found.tier());
        if let Retrieved::Media(media) = found.content() {
            self.add_media(media);
        }
    }

    /// Adds what was said: a person's words are first-party, what they attach is not; the model's own words are nobody's.
    pub(crate) fn add_message(&mut self, message: &Message) {
        match message.author() {
            Author::User => self.add(TrustTier::FirstParty),
            Author::Assistant | Author::Framework => {}
            Author::Agent { tier, .. } => self.add(*tier),
        }
        message
            .media()
            .iter()
            .for_each(|media| self.add_media(media));
    }
}
