//! What a media is, and how it could carry instructions.

use serde::{Deserialize, Serialize};

/// What a media is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Text in a format of its own: PDF, office files.
    Document,
}

/// How a media could carry instructions to a model that perceives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModalityHazard {
    /// It cannot: you know what is in it.
    Inert,
    /// As text that can be taken out and looked at.
    ExtractableInstructions,
    /// In what is seen or heard, where nothing can be taken out and looked at.
    OpaquePerceptual,
}

names!(MediaKind {
    Image = "image",
    Audio = "audio",
    Video = "video",
    Document = "document",
});

impl MediaKind {
    /// The kind that a MIME type speaks of. What is neither image, audio nor video is a document.
    #[must_use]
    pub(crate) fn of_mime_type(mime_type: &str) -> Self {
        let family = mime_type.split('/').next().unwrap_or_default().trim();
        let named = |kind: &&MediaKind| family.eq_ignore_ascii_case(kind.as_str());
        let known = MediaKind::ALL.iter().find(named);
        known.copied().unwrap_or(MediaKind::Document)
    }

    /// What the factories say of the kind.
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
