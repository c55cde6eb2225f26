//! Whether something is text, told by what it begins with and not by what somebody says of it.

use turnwright::media::sniff;

/// Enough of the beginning to tell.
pub(super) const ENOUGH: usize = 8 * 1024;

/// What it is if it is not text.
pub(super) fn not_text(bytes: &[u8]) -> Option<String> {
    let first = bytes.get(..ENOUGH).unwrap_or(bytes);
    let known = sniff(first, "").map(|(_, mime_type)| mime_type);
    if first.contains(&0) {
        return Some(known.unwrap_or_else(|| "binary data".to_owned()));
    }
    // A character may be cut at the end.
    let error = std::str::from_utf8(first).err();
    if error.is_none_or(|error| error.error_len().is_none()) {
        return None;
    }
    // Text in an older encoding looks like this too, but is not taken for anything else.
    known.filter(|mime_type| !mime_type.starts_with("text/"))
}

/// The first `most` characters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_what_is_none() {
        assert_eq!(not_text(b""), None);
        assert_eq!(not_text("Grüße".as_bytes()), None);
        assert_eq!(not_text(&"ü".repeat(ENOUGH).into_bytes()[1..]), None);
        assert_eq!(not_text(b"Gr\xfc\xdfe, in Latin-1"), None);
        assert_eq!(not_text(b"<svg xmlns='x'></svg>"), None);
        let png = not_text(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        assert_eq!(png.as_deref(), Some("image/png"));
        let pdf = not_text(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3");
        assert_eq!(pdf.as_deref(), Some("application/pdf"));
        assert_eq!(not_text(b"a\0b").as_deref(), Some("binary data"));
    }
}
