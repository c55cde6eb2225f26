//! Detects the type of media.

use super::MediaKind;

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
