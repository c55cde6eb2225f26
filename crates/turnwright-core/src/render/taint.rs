//! Which trust tiers a prompt contains.

use std::collections::BTreeSet;

use crate::media::Media;
use crate::record::{Author, Message, Record, Retrievable, Retrieved, ToolCall, ToolResults};
use crate::trust::TrustTier;

/// The set of trust tiers in a prompt.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::record::Retrievable;
/// use turnwright_core::trust::TrustTier;
///
/// let ctx = DispatchContext::standalone();
/// assert!(!ctx.taint().is_tainted());
/// ctx.records().add(Retrievable::text("From a wiki.", TrustTier::ThirdPartyPublic).build()?);
/// assert_eq!(ctx.taint().least_trusted(), Some(TrustTier::ThirdPartyPublic));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    tiers: BTreeSet<TrustTier>,
}

impl Taint {
    /// Iterates over the tiers, least trusted first.
    pub fn tiers(&self) -> impl Iterator<Item = TrustTier> + '_ {
        self.tiers.iter().copied()
    }

    /// Returns the least trusted tier, or `None` if there is no content.
    #[must_use]
    pub fn least_trusted(&self) -> Option<TrustTier> {
        self.tiers.first().copied()
    }

    /// Returns whether the prompt contains this tier.
    #[must_use]
    pub fn contains(&self, tier: TrustTier) -> bool {
        self.tiers.contains(&tier)
    }

    /// Returns whether the prompt contains content from third parties.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.least_trusted()
            .is_some_and(|tier| tier < TrustTier::FirstParty)
    }

    /// Adds content of this tier.
    pub fn add(&mut self, tier: TrustTier) {
        self.tiers.insert(tier);
    }

    /// Adds what a record shows.
    pub(crate) fn add_record(&mut self, record: &Record) {
        match record {
            Record::ToolCall(call) => self.add_tool_call(call),
            Record::Retrievable(found) => self.add_retrievable(found),
            Record::Message(message) => self.add_message(message),
            _ => {}
        }
    }

    /// Adds media and the texts derived from them.
    pub(crate) fn add_media(&mut self, media: &Media) {
        self.add(media.tier());
        for derived in media.stash().values() {
            self.add(derived.trust_tier);
        }
    }

    /// Adds the result of a call: media by their own tiers, text by whether the tool is trusted. A handle is never trusted.
    pub(crate) fn add_tool_call(&mut self, call: &ToolCall) {
        match call.results() {
            // The framework's own text.
            ToolResults::Nothing | ToolResults::Refusal(_) => {}
            ToolResults::Media(media) => media.iter().for_each(|media| self.add_media(media)),
            ToolResults::Text(_) | ToolResults::Artifacts(_) | ToolResults::Failure(_) => {
                self.add(match call.is_trusted() && call.is_inline() {
                    true => TrustTier::FirstParty,
                    false => TrustTier::ThirdPartyPublic,
                });
                call.media().iter().for_each(|media| self.add_media(media));
            }
        }
    }

    /// Adds a retrievable.
    pub(crate) fn add_retrievable(&mut self, found: &Retrievable) {
        self.add(found.tier());
        if let Retrieved::Media(media) = found.content() {
            self.add_media(media);
        }
    }

    /// Adds a message. Text of the user is first-party, but attachments are not. Text of the model has no tier.
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
