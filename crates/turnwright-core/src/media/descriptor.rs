//! Metadata of media, and the builder. Its constructors set the trust tier and hazard that fit the origin.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::reader::MediaReader;
use super::{Derived, Media, MediaKind, ModalityHazard};
use crate::error::{Error, ErrorCode};
use crate::ids::new_id;
use crate::trust::TrustTier;
use crate::validate::Violations;

/// The metadata of a media item, without its bytes. This is the serialised form. [`attach`](MediaDescriptor::attach) turns it
/// back into a [`Media`] with a reader of the bytes.
///
/// ```
/// use turnwright_core::media::{Media, MediaDescriptor, MediaKind};
/// use turnwright_core::spool::MemoryReader;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let chart = Media::tool_generated(MediaKind::Image, "image/png", "chart.png", MemoryReader::new("…")).build()?;
/// let stored = serde_json::to_string(&chart)?;
///
/// let descriptor: MediaDescriptor = serde_json::from_str(&stored)?;
/// let restored = descriptor.attach(MemoryReader::new("…"))?;
/// assert_eq!(restored.id(), chart.id());
/// assert_eq!(restored.base64().await?, "4oCm");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MediaDescriptor {
    /// The id.
    pub id: String,
    /// The kind of media.
    pub kind: MediaKind,
    /// The MIME type.
    pub mime_type: String,
    /// The file name as received. Never use it as a path.
    pub filename: String,
    /// The origin, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How far the content is trusted.
    pub trust_tier: TrustTier,
    /// How the content could carry instructions.
    pub modality_hazard: ModalityHazard,
    /// Texts derived from the media, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub stash: IndexMap<String, Derived>,
}

impl MediaDescriptor {
    /// Creates a [`Media`] with this metadata, whose bytes come from the reader.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_MEDIA_VALUE`, which lists all invalid fields.
    pub fn attach(mut self, reader: impl MediaReader + 'static) -> Result<Media, Error> {
        let mut wrong = Violations::default();
        wrong.check_id(&self.id);
        wrong.check(
            "mimeType",
            is_mime_type(&self.mime_type),
            "is not a MIME type such as `image/png`",
        );
        wrong.check("filename", !self.filename.is_empty(), "must not be empty");
        let named = !self.stash.contains_key("");
        wrong.check("stash", named, "has an entry with an empty name");
        wrong.finish(ErrorCode::INVALID_INITIAL_MEDIA_VALUE, "media")?;
        for derived in self.stash.values_mut() {
            derived.trust_tier = derived.trust_tier.min(self.trust_tier);
        }
        Ok(Media {
            described: Arc::new(self),
            reader: Arc::new(reader),
            spooled: None,
            in_place: false,
        })
    }

    /// Limits the trust tier of the text to that of the media.
    pub(super) fn derive(&mut self, name: String, text: String, tier: TrustTier) {
        let trust_tier = tier.min(self.trust_tier);
        self.stash.insert(name, Derived { text, trust_tier });
    }
}

debug_fields!(MediaDescriptor {
    id,
    kind,
    mime_type,
    trust_tier
});

/// Accepts `type/subtype` of letters, digits, `.`, `+`, `-` and `_`, which covers all registered types, optionally with
/// parameters of visible ASCII. Rejects characters used in escapes, because a type comes from third parties and appears in
/// prompts.
fn is_mime_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let name = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".+-_".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed)
    };
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && !b"&%\\<>".contains(&byte);
    text.len() <= 255
        && text.bytes().all(plain)
        && essence
            .split_once('/')
            .is_some_and(|(family, subtype)| name(family) && name(subtype))
}

/// Builds a [`Media`]. See [`Media::user_attachment`] and the constructors next to it.
///
/// ```
/// use turnwright_core::media::{Media, MediaKind};
/// use turnwright_core::spool::MemoryReader;
///
/// let photo = Media::retrieved_public(MediaKind::Image, "image/png", "cat.png", MemoryReader::new("…"))
///     .source("https://example.org/cat.png")
///     .build()?;
/// assert_eq!(photo.descriptor().source.as_deref(), Some("https://example.org/cat.png"));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct MediaBuilder {
    described: MediaDescriptor,
    in_place: bool,
    reader: Box<dyn FnOnce(MediaDescriptor) -> Result<Media, Error> + Send>,
}

impl Media {
    /// Starts a builder for an attachment of a user. The tier is third-party-private, because users forward what others wrote.
    pub fn user_attachment(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::ThirdPartyPrivate, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// Starts a builder for media generated by one of your tools. The tier is first-party.
    pub fn tool_generated(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::FirstParty, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// Starts a builder for media from a public source that anyone can write to. The tier is third-party-public.
    pub fn retrieved_public(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::ThirdPartyPublic, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// Starts a builder for media from a source with restricted write access. The tier is third-party-private.
    pub fn retrieved_private(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::ThirdPartyPrivate, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// Starts a builder with an explicit tier and hazard.
    pub fn labelled(
        kind: MediaKind,
        tier: TrustTier,
        hazard: ModalityHazard,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        MediaBuilder {
            described: MediaDescriptor {
                id: new_id(),
                kind,
                mime_type: mime_type.into(),
                filename: filename.into(),
                source: None,
                trust_tier: tier,
                modality_hazard: hazard,
                stash: IndexMap::new(),
            },
            in_place: false,
            reader: Box::new(move |described| described.attach(reader)),
        }
    }
}

impl MediaBuilder {
    /// Sets the id.
    ///
    /// Default: a new random id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.described.id = id.into();
        self
    }

    /// Sets the origin: a URL, a path or a name.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.described.source = Some(source.into());
        self
    }

    /// Adds text derived from the media, such as a transcript or a caption. Its trust tier is at most that of the media.
    pub fn derived(
        mut self,
        name: impl Into<String>,
        text: impl Into<String>,
        tier: TrustTier,
    ) -> Self {
        self.described.derive(name.into(), text.into(), tier);
        self
    }

    /// Leaves the bytes where they are. By default they are copied into the spool when a record with the media is written to a
    /// persistent store, if they can be read by range.
    ///
    /// After a restart, [`ByteResolver::media`](crate::record::ByteResolver::media) finds them, by the [source](Self::source) for
    /// example. They are not deleted with the conversation.
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// Builds the media.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_MEDIA_VALUE`, which lists all invalid fields.
    pub fn build(self) -> Result<Media, Error> {
        let media = (self.reader)(self.described)?;
        Ok(if self.in_place {
            media.in_place()
        } else {
            media
        })
    }
}

debug_fields!(MediaBuilder { described });
