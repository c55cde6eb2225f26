//! Kinds of media, the hazards that they pose, and how a kind is detected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

names! {
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
    #[non_exhaustive]
    pub enum MediaKind {
        /// An image.
        Image = "image",
        /// Audio.
        Audio = "audio",
        /// Video.
        Video = "video",
        /// A document, such as a PDF or office file.
        Document = "document",
    }
}

names! {
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
    #[non_exhaustive]
    pub enum ModalityHazard {
        /// Not at all: the content is known.
        Inert = "inert",
        /// As text that can be extracted and inspected.
        ExtractableInstructions = "extractable-instructions",
        /// In what is seen or heard, where no text can be extracted and inspected.
        OpaquePerceptual = "opaque-perceptual",
    }
}

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

/// How many bytes are enough to detect a type.
const ENOUGH: usize = 8 * 1024;

/// Detects the kind and MIME type from the first bytes, or else from the file name. The bytes have precedence, because a name can
/// be wrong.
///
/// ```
/// use turnwright_core::media::{MediaKind, sniff};
///
/// let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
/// assert_eq!(sniff(png, "holiday.pdf"), Some((MediaKind::Image, "image/png".to_owned())));
/// assert_eq!(sniff(b"", "song.mp3"), Some((MediaKind::Audio, "audio/mpeg".to_owned())));
/// assert_eq!(sniff(b"", "unknown"), None);
/// ```
#[must_use]
pub fn sniff(first: &[u8], filename: &str) -> Option<(MediaKind, String)> {
    let first = first.get(..ENOUGH).unwrap_or(first);
    let mime_type = is_svg(first)
        .then_some("image/svg+xml")
        .or_else(|| is_avif(first).then_some("image/avif"))
        .or_else(|| infer::get(first).map(|found| found.mime_type()))
        .or_else(|| mime_guess::from_path(filename).first_raw())?;
    Some((MediaKind::of_mime_type(mime_type), mime_type.to_owned()))
}

/// Returns whether the text is XML with the root element `svg`.
fn is_svg(first: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let opens = |text: &str| {
        text.get(..4)
            .is_some_and(|tag| tag.eq_ignore_ascii_case("<svg"))
            && text[4..].starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
    };
    opens(text)
        || (["<?xml", "<!--", "<!DOCTYPE svg"]
            .iter()
            .any(|prologue| text.starts_with(prologue))
            && text.match_indices("<svg").any(|(at, _)| opens(&text[at..])))
}

/// Checks the brand of the file type box.
fn is_avif(first: &[u8]) -> bool {
    first.get(4..8) == Some(b"ftyp") && matches!(first.get(8..12), Some(b"avif" | b"avis"))
}
