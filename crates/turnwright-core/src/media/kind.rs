//! Kinds of media and the hazards that they pose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of media.
///
/// ```
/// use turnwright_core::media::{Media, MediaKind};
/// use turnwright_core::spool::MemoryReader;
///
/// let photo = Media::user_attachment(MediaKind::Image, "image/png", "cat.png", MemoryReader::new("…")).build()?;
/// assert_eq!(photo.kind(), MediaKind::Image);
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MediaKind {
    /// An image.
    Image,
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// A document, such as a PDF or office file.
    Document,
}

/// How media could carry instructions to a model that perceives them.
///
/// ```
/// use turnwright_core::media::{Media, MediaKind, ModalityHazard};
/// use turnwright_core::spool::MemoryReader;
/// use turnwright_core::trust::TrustTier;
///
/// // A chart that your own program drew from its own data.
/// let chart = MemoryReader::new("…");
/// let (tier, hazard) = (TrustTier::FirstParty, ModalityHazard::Inert);
/// let chart = Media::labelled(MediaKind::Image, tier, hazard, "image/png", "chart.png", chart).build()?;
/// assert!(!chart.is_untrusted());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModalityHazard {
    /// Not at all: the content is known.
    Inert,
    /// As text that can be extracted and inspected.
    ExtractableInstructions,
    /// In what is seen or heard, where no text can be extracted and inspected.
    OpaquePerceptual,
}

names!(MediaKind {
    Image = "image",
    Audio = "audio",
    Video = "video",
    Document = "document",
});

impl MediaKind {
    /// Returns the kind for a MIME type. Everything but images, audio and video is a document.
    #[must_use]
    pub(crate) fn of_mime_type(mime_type: &str) -> Self {
        let family = mime_type.split('/').next().unwrap_or_default().trim();
        let named = |kind: &&MediaKind| family.eq_ignore_ascii_case(kind.as_str());
        let known = MediaKind::ALL.iter().find(named);
        known.copied().unwrap_or(MediaKind::Document)
    }

    /// Returns the default hazard of the kind.
    #[must_use]
    pub const fn hazard(self) -> ModalityHazard {
        match self {
            MediaKind::Document => ModalityHazard::ExtractableInstructions,
            MediaKind::Image | MediaKind::Audio | MediaKind::Video => {
                ModalityHazard::OpaquePerceptual
            }
        }
    }
}

names!(ModalityHazard {
    Inert = "inert",
    ExtractableInstructions = "extractable-instructions",
    OpaquePerceptual = "opaque-perceptual",
});
