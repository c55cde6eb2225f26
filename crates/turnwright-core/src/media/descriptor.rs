//! What is known of a media without its bytes.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::reader::MediaReader;
use super::{Derived, Media, MediaKind, ModalityHazard};
use crate::error::{Error, ErrorCode};
use crate::schema::admit_key;
use crate::trust::TrustTier;
use crate::validate::Violations;

/// What is known of a media without its bytes: what is stored of it, and what it is made from again once a reader of its
/// bytes is at hand.
///
/// ```
/// use turnwright_core::media::{Media, MediaDescriptor, MediaKind};
/// use turnwright_core::spool::MemoryReader;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let chart = Media::tool_generated(MediaKind::Image, "image/png", "chart.png", MemoryReader::new("…")).build()?;
/// let stored = serde_json::to_string(&chart)?;
///
/// let known: MediaDescriptor = serde_json::from_str(&stored)?;
/// let again = known.attach(MemoryReader::new("…"))?;
/// assert_eq!(again.id(), chart.id());
/// assert_eq!(again.base64().await?, "4oCm");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MediaDescriptor {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: MediaKind,
    /// Its MIME type.
    pub mime_type: String,
    /// Its file name, as it came: never a path to read from.
    pub filename: String,
    /// Where it is from, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How far it can be trusted.
    pub trust_tier: TrustTier,
    /// How it could carry instructions.
    pub modality_hazard: ModalityHazard,
    /// What was derived from it, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub stash: IndexMap<String, Derived>,
}

impl MediaDescriptor {
    /// The media, with its bytes to be read from there.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_MEDIA_VALUE`, which names every wrong field.
    pub fn attach(mut self, reader: impl MediaReader + 'static) -> Result<Media, Error> {
        let mut wrong = Violations::default();
        wrong.check_id(&self.id);
        wrong.check(
            "mimeType",
            is_mime_type(&self.mime_type),
            "is no MIME type: write it like `image/png`",
        );
        wrong.check("filename", !self.filename.is_empty(), "is empty");
        let named = !self.stash.contains_key("");
        wrong.check("stash", named, "has an entry without a name");
        let names = self.stash.keys().try_for_each(|name| admit_key(name));
        wrong.admit("stash", names);
        wrong.finish(ErrorCode::INVALID_INITIAL_MEDIA_VALUE, "media")?;
        for derived in self.stash.values_mut() {
            derived.trust_tier = derived.trust_tier.min(self.trust_tier);
        }
        Ok(Media {
            described: Arc::new(self),
            reader: Arc::new(reader),
            spooled: None,
        })
    }

    /// Trusted no further than the media.
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

/// `type/subtype` of letters, digits, `.`, `+`, `-` and `_`, which is all that registered types have, with or without
/// parameters of visible ASCII. Nothing that escapes are written with: a type comes from strangers and stands in prompts.
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
