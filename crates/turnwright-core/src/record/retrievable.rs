//! What was looked up for the turn.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::json;

use super::builder::{Build, RecordBuilder};
use super::stamp::Stamp;
use crate::artifact::SpooledArtifact;
use crate::checksum::digest_of;
use crate::error::ErrorCode;
use crate::media::Media;
use crate::trust::TrustTier;
use crate::validate::Violations;

/// Something that was looked up and may stand in the prompt: a passage, a document, a picture. It says where it is from
/// by a trust tier, which has no default. Immutable.
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
    content: Retrieved,
    tier: TrustTier,
    source: Option<String>,
    inline: bool,
}

/// What was found.
#[derive(Clone)]
#[non_exhaustive]
pub enum Retrieved {
    /// A passage.
    Text(String),
    /// A document that is queried, or in the prompt as a whole.
    Artifact(SpooledArtifact),
    /// A picture, a recording.
    Media(Media),
}

impl Retrievable {
    /// A passage in the prompt.
    pub fn text(text: impl Into<String>, tier: TrustTier) -> RecordBuilder<Self> {
        Retrievable::stamped(Retrieved::Text(text.into()), tier, true, Stamp::new())
    }

    /// A document that is asked with artifact tools, by [`Retrievable::shown_id`]. It stands in the prompt as a handle unless
    /// [`inline`](RecordBuilder::inline) says otherwise.
    pub fn artifact(artifact: SpooledArtifact, tier: TrustTier) -> RecordBuilder<Self> {
        Retrievable::stamped(Retrieved::Artifact(artifact), tier, false, Stamp::new())
    }

    /// A media, which has a tier of its own.
    pub fn media(media: Media) -> RecordBuilder<Self> {
        let tier = media.tier();
        Retrievable::stamped(Retrieved::Media(media), tier, true, Stamp::new())
    }

    /// Starts a record that has its id and times.
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
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.stamp.id
    }

    /// When it was created.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.stamp.created_at
    }

    /// When it was last changed.
    #[must_use]
    pub fn updated_at(&self) -> SystemTime {
        self.stamp.updated_at
    }

    /// The id by which a model is shown this record and names it: the `callId` of artifact tools.
    ///
    /// That is the record's own id if its tier is first-party. Otherwise it is a digest of it: an id that a third party chose
    /// is a third party's text, and this one is outside of the fences and in the definitions of tools.
    #[must_use]
    pub(crate) fn shown_id(&self) -> Cow<'_, str> {
        match self.tier {
            TrustTier::FirstParty => Cow::Borrowed(&self.stamp.id),
            TrustTier::ThirdPartyPrivate | TrustTier::ThirdPartyPublic => {
                Cow::Owned(digest_id(&self.stamp.id))
            }
        }
    }

    /// What was found.
    #[must_use]
    pub fn content(&self) -> &Retrieved {
        &self.content
    }

    /// The same record with another media.
    pub(super) fn with_media(self: Arc<Self>, media: Media) -> Arc<Self> {
        let mut found = Arc::unwrap_or_clone(self);
        found.content = Retrieved::Media(media);
        Arc::new(found)
    }

    /// How far it can be trusted.
    #[must_use]
    pub fn tier(&self) -> TrustTier {
        self.tier
    }

    /// Where it is from, if that was said.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Whether it is in the prompt itself. If not, it is an artifact that the model queries.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.inline
    }

    /// The artifact that the model asks by [`Retrievable::shown_id`], if it is one.
    #[must_use]
    pub fn handle(&self) -> Option<&SpooledArtifact> {
        match &self.content {
            Retrieved::Artifact(artifact) if !self.inline => Some(artifact),
            Retrieved::Artifact(_) | Retrieved::Text(_) | Retrieved::Media(_) => None,
        }
    }
}

/// An id of ours for a record whose id a third party may have chosen. 64 bits make a collision on purpose impractical.
pub(crate) fn digest_id(id: &str) -> String {
    let digest = digest_of(&json!(["retrievable", id]));
    format!("r-{}", digest.get(..16).unwrap_or(&digest))
}

impl RecordBuilder<Retrievable> {
    /// Where it is from: a URL, a path, a title.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets whether an artifact is in the prompt itself.
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
            Retrieved::Text(text) => wrong.check("text", !text.is_empty(), "is empty"),
            Retrieved::Artifact(_) | Retrieved::Media(_) => {}
        }
        let is_artifact = matches!(self.content, Retrieved::Artifact(_));
        let why = "only an artifact can stand outside of the prompt: use `Retrievable::artifact`";
        wrong.check("inline", self.inline || is_artifact, why);
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
