//! Tells text from other content by its first bytes, not by its declared type.

use turnwright::media::sniff;

/// The number of bytes that are examined.
pub(super) const ENOUGH: usize = 8 * 1024;

/// The type of content that is not text; `None` for text.
pub(super) fn not_text(bytes: &[u8]) -> Option<String> {
    let first = bytes.get(..ENOUGH).unwrap_or(bytes);
    let known = sniff(first, "").map(|(_, mime_type)| mime_type);
    if first.contains(&0) {
        return Some(known.unwrap_or_else(|| "binary data".to_owned()));
    }
    // The last character may be cut.
    let error = std::str::from_utf8(first).err();
    if error.is_none_or(|error| error.error_len().is_none()) {
        return None;
    }
    // Text in an older encoding is not valid UTF-8 either, but no other type is detected.
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
    fn text_is_distinguished_from_binary_content() {
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
