//! Metadata of media.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::reader::MediaReader;
use super::{Derived, Media, MediaKind, ModalityHazard};
use crate::error::{Error, ErrorCode};
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
