//! What a prompt contains: trust tiers, private data, and the records that they come from.
//!
//! Taint follows envelopes: content counts as third-party if it is rendered in an untrusted envelope. A user's words
//! are first-party; their attachments are not.

use std::fmt;
use std::sync::Arc;

use crate::media::Media;
use crate::record::{
    Author, Exposure, Memory, Message, Record, RecordKind, Retrievable, Retrieved, TaintSource,
    Thought, ToolCall, ToolResults,
};
use crate::trust::TrustTier;

/// What a prompt contains: the set of its trust tiers, whether private data are in it, and the records that both come from.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::record::Retrievable;
/// use turnwright_core::trust::TrustTier;
///
/// let ctx = DispatchContext::standalone();
/// assert!(!ctx.taint().is_tainted());
/// ctx.records().add(Retrievable::text("From a wiki.", TrustTier::ThirdPartyPublic).id("wiki-1").build()?);
/// let taint = ctx.taint();
/// assert_eq!(taint.least_trusted(), Some(TrustTier::ThirdPartyPublic));
/// assert!(!taint.is_private());
/// assert_eq!(&*taint.sources()[0].id, "wiki-1");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    tiers: Tiers,
    private: bool,
    sources: Vec<TaintSource>,
    /// Whether the sources are not needed.
    omits_sources: bool,
}

/// A set of tiers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Tiers(u8);

const ALL: [TrustTier; 3] = [
    TrustTier::ThirdPartyPublic,
    TrustTier::ThirdPartyPrivate,
    TrustTier::FirstParty,
];

impl Tiers {
    fn add(&mut self, tier: TrustTier) {
        self.0 |= 1 << tier as u8;
    }

    fn contains(self, tier: TrustTier) -> bool {
        self.0 & (1 << tier as u8) != 0
    }

    fn iter(self) -> impl Iterator<Item = TrustTier> {
        ALL.into_iter().filter(move |tier| self.contains(*tier))
    }

    /// Returns the least trusted tier of third parties.
    fn third_party(self) -> Option<TrustTier> {
        self.iter().find(|tier| *tier < TrustTier::FirstParty)
    }

    fn add_media(&mut self, media: &Media) {
        self.add(media.tier());
        for derived in media.descriptor().stash.values() {
            self.add(derived.trust_tier);
        }
    }
}

impl fmt::Debug for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What one record contains.
#[derive(Clone, Copy, Default)]
struct Contents {
    tiers: Tiers,
    private: bool,
    /// What its author had read.
    exposure: Exposure,
}

impl Contents {
    fn of(exposure: Exposure) -> Self {
        Contents {
            exposure,
            ..Contents::default()
        }
    }
}

impl Taint {
    /// Iterates over the tiers, least trusted first.
    pub fn tiers(&self) -> impl Iterator<Item = TrustTier> + '_ {
        self.tiers.iter()
    }

    /// Returns the least trusted tier, or `None` if there is no content.
    #[must_use]
    pub fn least_trusted(&self) -> Option<TrustTier> {
        self.tiers.iter().next()
    }

    /// Returns whether the prompt contains this tier.
    #[must_use]
    pub fn contains(&self, tier: TrustTier) -> bool {
        self.tiers.contains(tier)
    }

    /// Returns whether the prompt contains content from third parties.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.tiers.third_party().is_some()
    }

    /// Returns whether the prompt contains private data: results of tools that are marked as
    /// [`reads_private`](crate::tool::ToolBuilder::reads_private), private retrievables and messages, content of the tier third-party-private, or
    /// words that a model wrote after it had read such content.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private || self.contains(TrustTier::ThirdPartyPrivate)
    }

    /// Returns the records that contain text of third parties or private data, in order of their kind and position.
    #[must_use]
    pub fn sources(&self) -> &[TaintSource] {
        &self.sources
    }

    /// Adds content of this tier.
    pub fn add(&mut self, tier: TrustTier) {
        self.tiers.add(tier);
    }

    /// Adds private data.
    pub(crate) fn add_private(&mut self) {
        self.private = true;
    }

    /// Adds what another taint contains.
    pub(crate) fn merge(&mut self, other: &Taint) {
        self.tiers.0 |= other.tiers.0;
        self.private |= other.private;
        self.sources.extend(other.sources.iter().cloned());
    }

    /// Returns the same taint without its sources, to which records are added without sources too. Much cheaper in a long
    /// conversation.
    pub(crate) fn without_sources(mut self) -> Self {
        (self.sources, self.omits_sources) = (Vec::new(), true);
        self
    }

    /// Returns the same taint as one of an outer turn.
    pub(crate) fn of_outer_turn(mut self) -> Self {
        self.sources
            .iter_mut()
            .for_each(|source| source.outer = true);
        self
    }

    /// Returns what a record has been exposed to that is written with this in the prompt.
    pub(crate) fn exposure(&self) -> Exposure {
        Exposure {
            tier: self.tiers.third_party(),
            private: self.is_private(),
        }
    }

    /// Adds what a record shows.
    pub(crate) fn add_record(&mut self, record: &Record) {
        match record {
            Record::ToolCall(call) => self.add_tool_call(call),
            Record::Retrievable(found) => self.add_retrievable(found),
            Record::Message(message) => self.add_message(message),
            Record::Thought(thought) => self.add_thought(thought),
            Record::Memory(memory) => self.add_memory(memory),
            _ => {}
        }
    }

    /// Adds media and the texts derived from them.
    pub(crate) fn add_media(&mut self, media: &Media) {
        self.tiers.add_media(media);
    }

    /// Adds the result of a call: media by their own tiers, text by whether the tool is trusted. A handle is never trusted.
    pub(crate) fn add_tool_call(&mut self, call: &ToolCall) {
        let mut contents = Contents::of(call.exposure());
        match call.results() {
            // The framework's own text.
            ToolResults::Nothing | ToolResults::Refusal(_) => {}
            // Nothing of it is shown.
            _ if call.is_quarantined() => {}
            results => {
                contents.private = call.is_private();
                if !matches!(results, ToolResults::Media(_)) {
                    contents
                        .tiers
                        .add(if call.is_trusted() && call.is_inline() {
                            TrustTier::FirstParty
                        } else {
                            TrustTier::ThirdPartyPublic
                        });
                }
                let media = call.media().iter();
                media.for_each(|media| contents.tiers.add_media(media));
            }
        }
        let tool = || Some(call.tool().into());
        self.add_contents(RecordKind::ToolCall, call.id(), tool, contents);
    }

    /// Adds what the model had read when it proposed a call, without the result.
    pub(crate) fn add_proposal(&mut self, call_id: &str, tool: &str, exposure: Exposure) {
        let tool = || Some(tool.into());
        self.add_contents(RecordKind::ToolCall, call_id, tool, Contents::of(exposure));
    }

    /// Adds a retrievable.
    pub(crate) fn add_retrievable(&mut self, found: &Retrievable) {
        let mut contents = Contents {
            private: found.is_private(),
            ..Contents::default()
        };
        contents.tiers.add(found.tier());
        if let Retrieved::Media(media) = found.content() {
            contents.tiers.add_media(media);
        }
        self.add_contents(RecordKind::Retrievable, found.id(), || None, contents);
    }

    /// Adds a message. Text of the user is first-party, but attachments are not. Text of the model has the tiers of what it had
    /// read.
    pub(crate) fn add_message(&mut self, message: &Message) {
        let mut contents = Contents::of(message.exposure());
        match message.author() {
            Author::User => contents.tiers.add(TrustTier::FirstParty),
            Author::Assistant | Author::Framework => {}
            Author::Agent { tier, .. } => {
                contents.tiers.add(*tier);
                contents.private = contents.exposure.private;
            }
        }
        (message.media().iter()).for_each(|media| contents.tiers.add_media(media));
        self.add_contents(RecordKind::Message, message.id(), || None, contents);
    }

    /// Adds a thought.
    pub(crate) fn add_thought(&mut self, thought: &Thought) {
        let contents = Contents::of(thought.exposure());
        self.add_contents(RecordKind::Thought, thought.id(), || None, contents);
    }

    /// Adds a memory.
    pub(crate) fn add_memory(&mut self, memory: &Memory) {
        let contents = Contents::of(memory.exposure());
        self.add_contents(RecordKind::Memory, memory.id(), || None, contents);
    }

    fn add_contents(
        &mut self,
        kind: RecordKind,
        id: &str,
        tool: impl FnOnce() -> Option<Arc<str>>,
        contents: Contents,
    ) {
        let Contents {
            tiers,
            private,
            exposure,
        } = contents;
        self.tiers.0 |= tiers.0;
        exposure
            .tier
            .into_iter()
            .for_each(|tier| self.tiers.add(tier));
        self.private |= private || exposure.private;
        let private = private || tiers.contains(TrustTier::ThirdPartyPrivate);
        let own = tiers.third_party();
        let derived = own.is_none() && !private;
        if self.omits_sources || (derived && exposure.is_empty()) {
            return;
        }
        let mut source = TaintSource::new(kind, id);
        source.tool = tool();
        (source.trust_tier, source.private) = if derived {
            (exposure.tier, exposure.private)
        } else {
            (own, private)
        };
        source.derived = derived;
        self.sources.push(source);
    }
}
