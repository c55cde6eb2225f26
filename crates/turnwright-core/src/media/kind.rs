//! What a media is, and how it could carry instructions.

use std::fmt;

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

impl MediaKind {
    /// The kind that a MIME type speaks of. What is neither image, audio nor video is a document.
    #[must_use]
    pub fn of_mime_type(mime_type: &str) -> Self {
        let family = mime_type.split('/').next().unwrap_or_default().trim();
        match () {
            () if family.eq_ignore_ascii_case("image") => MediaKind::Image,
            () if family.eq_ignore_ascii_case("audio") => MediaKind::Audio,
            () if family.eq_ignore_ascii_case("video") => MediaKind::Video,
            () => MediaKind::Document,
        }
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

    /// The kind as it stands in records and envelopes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            MediaKind::Image => "image",
            MediaKind::Audio => "audio",
            MediaKind::Video => "video",
            MediaKind::Document => "document",
        }
    }
}

impl ModalityHazard {
    /// The hazard as it stands in records and envelopes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ModalityHazard::Inert => "inert",
            ModalityHazard::ExtractableInstructions => "extractable-instructions",
            ModalityHazard::OpaquePerceptual => "opaque-perceptual",
        }
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ModalityHazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
