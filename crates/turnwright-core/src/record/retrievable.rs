//! Retrieved content.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::json;

use super::builder::{Build, RecordBuilder};
use super::coverage::Coverage;
use super::stamp::Stamp;
use crate::artifact::SpooledArtifact;
use crate::checksum::digest_of;
use crate::error::ErrorCode;
use crate::media::Media;
use crate::trust::TrustTier;
use crate::validate::Violations;

/// Retrieved content: a passage, a document or an image. Its trust tier must be set explicitly. Immutable.
///
/// ```
/// use turnwright_core::record::Retrievable;
/// use turnwright_core::trust::TrustTier;
///
/// let passage = Retrievable::text("Paris has 20 districts.", TrustTier::ThirdPartyPublic)
///     .source("https://example.com/paris")
///     .build()?;
/// assert!(passage.is_inline());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Retrievable {
    pub(super) stamp: Stamp,
    pub(super) content: Retrieved,
    tier: TrustTier,
    source: Option<String>,
    inline: bool,
    pub(super) private: bool,
    covers: Option<Box<Coverage>>,
}

/// The content of a [`Retrievable`].
#[derive(Clone)]
#[non_exhaustive]
pub enum Retrieved {
    /// A passage.
    Text(String),
    /// A document that is queried, or inlined into the prompt.
    Artifact(SpooledArtifact),
    /// An image, audio or video.
    Media(Media),
}

impl Retrievable {
    /// Starts a passage that is inlined into the prompt.
    pub fn text(text: impl Into<String>, tier: TrustTier) -> RecordBuilder<Self> {
        Retrievable::stamped(Retrieved::Text(text.into()), tier, true, Stamp::new())
    }

    /// Starts a document that is queried with artifact tools, by its id. The prompt contains a handle, unless
    /// [`inline`](RecordBuilder::inline) is set.
    pub fn artifact(artifact: SpooledArtifact, tier: TrustTier) -> RecordBuilder<Self> {
        Retrievable::stamped(Retrieved::Artifact(artifact), tier, false, Stamp::new())
    }

    /// Starts media, which have their own trust tier.
    pub fn media(media: Media) -> RecordBuilder<Self> {
        let tier = media.tier();
        Retrievable::stamped(Retrieved::Media(media), tier, true, Stamp::new())
    }

    /// Starts a summary, which replaces a part of the conversation in prompts.
    pub(crate) fn summary(
        text: impl Into<String>,
        tier: TrustTier,
        covers: Coverage,
    ) -> RecordBuilder<Self> {
        Retrievable::text(text, tier).covers(covers)
    }

    /// Starts a record with an existing id and times.
    pub(super) fn stamped(
        content: Retrieved,
        tier: TrustTier,
        inline: bool,
        stamp: Stamp,
    ) -> RecordBuilder<Self> {
        RecordBuilder(Retrievable {
            stamp,
            content,
            tier,
            source: None,
            inline,
            private: false,
            covers: None,
        })
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.stamp.id
    }

    /// Returns when it was created.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.stamp.created_at
    }

    /// Returns when it was last changed.
    #[must_use]
    pub fn updated_at(&self) -> SystemTime {
        self.stamp.updated_at
    }

    /// Returns the id that the model sees and uses for this record: the `callId` of artifact tools.
    ///
    /// It is the record's own id if its tier is first-party. Otherwise it is a digest of the id: an id chosen by a third party
    /// is untrusted text, and the id appears outside of envelopes and in tool definitions.
    ///
    /// ```
    /// use turnwright_core::record::Retrievable;
    /// use turnwright_core::trust::TrustTier;
    ///
    /// let page = Retrievable::text("Buy now!", TrustTier::ThirdPartyPublic).id("ad").build()?;
    /// assert!(page.shown_id().starts_with("r-"));
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    #[must_use]
    pub fn shown_id(&self) -> Cow<'_, str> {
        match self.tier {
            TrustTier::FirstParty => Cow::Borrowed(&self.stamp.id),
            TrustTier::ThirdPartyPrivate | TrustTier::ThirdPartyPublic => {
                Cow::Owned(digest_id(&self.stamp.id))
            }
        }
    }

    /// Returns the content.
    #[must_use]
    pub fn content(&self) -> &Retrieved {
        &self.content
    }

    /// Returns the record with other media.
    pub(super) fn with_media(self: Arc<Self>, media: Media) -> Arc<Self> {
        let mut found = Arc::unwrap_or_clone(self);
        found.content = Retrieved::Media(media);
        Arc::new(found)
    }

    /// Returns how far it is trusted.
    #[must_use]
    pub fn tier(&self) -> TrustTier {
        self.tier
    }

    /// Returns whether it contains private data: it was marked so, its tier is third-party-private, or it is a summary of private
    /// data.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private || self.tier == TrustTier::ThirdPartyPrivate
    }

    /// Returns the origin, if known.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Returns which part of the conversation it replaces in prompts, if it is a summary made by
    /// [`compact`](crate::middleware::compact()).
    #[must_use]
    pub fn covers(&self) -> Option<&Coverage> {
        self.covers.as_deref()
    }

    /// Returns whether it is inlined into the prompt. If not, it is an artifact that the model queries.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.inline
    }

    /// Returns the artifact that the model queries by its id, if it is one.
    #[must_use]
    pub fn handle(&self) -> Option<&SpooledArtifact> {
        match &self.content {
            Retrieved::Artifact(artifact) if !self.inline => Some(artifact),
            Retrieved::Artifact(_) | Retrieved::Text(_) | Retrieved::Media(_) => None,
        }
    }
}

/// Returns a replacement id for a record whose id a third party may have chosen. 64 bits make deliberate collisions impractical.
pub(crate) fn digest_id(id: &str) -> String {
    let digest = digest_of(&json!(["retrievable", id]));
    format!("r-{}", digest.get(..16).unwrap_or(&digest))
}

impl RecordBuilder<Retrievable> {
    /// Sets the origin: a URL, a path or a title.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets whether it contains private data, which must not leave: see
    /// [`no_exfiltration`](crate::tool::approval::no_exfiltration).
    ///
    /// Default: `false`. Content of the tier third-party-private is always private.
    pub fn private(mut self, private: bool) -> Self {
        self.0.private = private;
        self
    }

    /// Makes it a summary.
    pub(super) fn covers(mut self, covers: Coverage) -> Self {
        self.0.covers = Some(Box::new(covers));
        self
    }

    /// Sets whether an artifact is inlined into the prompt.
    pub fn inline(mut self, inline: bool) -> Self {
        self.0.inline = inline;
        self
    }
}

impl Build for Retrievable {
    const NAME: &'static str = "retrievable";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_RETRIEVABLE_VALUE;

    fn stamp_mut(&mut self) -> &mut Stamp {
        &mut self.stamp
    }

    fn check(&self, wrong: &mut Violations) {
        match &self.content {
            Retrieved::Text(text) => wrong.check("text", !text.is_empty(), "must not be empty"),
            Retrieved::Artifact(_) | Retrieved::Media(_) => {}
        }
        let is_artifact = matches!(self.content, Retrieved::Artifact(_));
        let why = "only an artifact can be left out of the prompt: use `Retrievable::artifact`";
        wrong.check("inline", self.inline || is_artifact, why);
        let is_text = matches!(self.content, Retrieved::Text(_));
        let why = "only a text can be a summary";
        wrong.check("covers", self.covers.is_none() || is_text, why);
    }
}

debug_fields!(Retrievable { stamp.id, tier });

impl fmt::Debug for Retrieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retrieved::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Retrieved::Artifact(artifact) => artifact.fmt(f),
            Retrieved::Media(media) => media.fmt(f),
        }
    }
}
