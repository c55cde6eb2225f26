//! Retrieved content.

use std::borrow::Cow;
use std::fmt;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::builder::{Body, RecordBuilder, check_stamp, stamped};
use super::coverage::Coverage;
use super::stored::{is_default, part, stored};
use crate::artifact::SpooledArtifact;
use crate::checksum::digest_of;
use crate::error::ErrorCode;
use crate::ids::new_id;
use crate::media::Media;
use crate::trust::TrustTier;
use crate::validate::Violations;

stored! {
    StoredRetrievable as "Retrievable";
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
        id: String,
        #[serde(with = "part")]
        created_at: SystemTime,
        #[serde(with = "part")]
        updated_at: SystemTime,
        #[serde(with = "StoredContent")]
        content: Retrieved,
        #[serde(rename = "trustTier")]
        tier: TrustTier,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        inline: bool,
        #[serde(default, skip_serializing_if = "is_default")]
        pub(super) private: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        covers: Option<Box<Coverage>>,
    }
}

stamped!(Retrievable);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Retrieved", rename_all = "camelCase")]
enum StoredContent {
    Text(String),
    #[serde(with = "part")]
    Artifact(SpooledArtifact),
    #[serde(with = "part")]
    Media(Media),
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
        Retrievable::of(Retrieved::Text(text.into()), tier, true)
    }

    /// Starts a document that is queried with artifact tools, by its id. The prompt contains a handle, unless
    /// [`inline`](RecordBuilder::inline) is set.
    pub fn artifact(artifact: SpooledArtifact, tier: TrustTier) -> RecordBuilder<Self> {
        Retrievable::of(Retrieved::Artifact(artifact), tier, false)
    }

    /// Starts media, which have their own trust tier.
    pub fn media(media: Media) -> RecordBuilder<Self> {
        let tier = media.tier();
        Retrievable::of(Retrieved::Media(media), tier, true)
    }

    /// Starts a summary, which replaces a part of the conversation in prompts.
    pub(crate) fn summary(
        text: impl Into<String>,
        tier: TrustTier,
        covers: Coverage,
    ) -> RecordBuilder<Self> {
        let mut summary = Retrievable::text(text, tier);
        summary.0.covers = Some(Box::new(covers));
        summary
    }

    fn of(content: Retrieved, tier: TrustTier, inline: bool) -> RecordBuilder<Self> {
        let now = SystemTime::now();
        RecordBuilder(Retrievable {
            id: new_id(),
            created_at: now,
            updated_at: now,
            content,
            tier,
            source: None,
            inline,
            private: false,
            covers: None,
        })
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
            TrustTier::FirstParty => Cow::Borrowed(&self.id),
            TrustTier::ThirdPartyPrivate | TrustTier::ThirdPartyPublic => {
                Cow::Owned(digest_id(&self.id))
            }
        }
    }

    /// Returns the content.
    #[must_use]
    pub fn content(&self) -> &Retrieved {
        &self.content
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

    /// Sets whether an artifact is inlined into the prompt.
    pub fn inline(mut self, inline: bool) -> Self {
        self.0.inline = inline;
        self
    }
}

impl Body for Retrievable {
    const NAME: &'static str = "retrievable";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_RETRIEVABLE_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        check_stamp(self, wrong);
        match &self.content {
            Retrieved::Text(text) => wrong.check("text", !text.is_empty(), "must not be empty"),
            Retrieved::Media(media) => {
                let why = "does not match that of the media";
                wrong.check("trustTier", self.tier == media.tier(), why);
            }
            Retrieved::Artifact(_) => {}
        }
        if let Some(covers) = &self.covers {
            covers.check(wrong);
        }
        let is_artifact = matches!(self.content, Retrieved::Artifact(_));
        let why = "only an artifact can be left out of the prompt: use `Retrievable::artifact`";
        wrong.check("inline", self.inline || is_artifact, why);
        let is_text = matches!(self.content, Retrieved::Text(_));
        let why = "only a text can be a summary";
        wrong.check("covers", self.covers.is_none() || is_text, why);
    }

    fn artifacts_mut(&mut self) -> &mut [SpooledArtifact] {
        match &mut self.content {
            Retrieved::Artifact(artifact) => std::slice::from_mut(artifact),
            Retrieved::Text(_) | Retrieved::Media(_) => &mut [],
        }
    }

    fn media_mut(&mut self) -> &mut [Media] {
        match &mut self.content {
            Retrieved::Media(media) => std::slice::from_mut(media),
            Retrieved::Text(_) | Retrieved::Artifact(_) => &mut [],
        }
    }
}

debug_fields!(Retrievable { id, tier });

impl fmt::Debug for Retrieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retrieved::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Retrieved::Artifact(artifact) => artifact.fmt(f),
            Retrieved::Media(media) => media.fmt(f),
        }
    }
}
