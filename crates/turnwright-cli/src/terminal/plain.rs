//! Makes third-party text safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use turnwright::schema::is_invisible;

/// Escapes control characters and invisible characters, including those that change the direction of text. Line ends and tabs
/// stay, and so do the joiners that some scripts and emoji need.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let must_escape = |ch: char| must_escape(ch) && !is_joiner(ch);
    if !text.chars().any(must_escape) {
        return Cow::Borrowed(text);
    }
    let shown = |ch: char| {
        if must_escape(ch) {
            ch.escape_unicode().to_string()
        } else {
            ch.to_string()
        }
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// A value as JSON text without control or invisible characters. It parses as the same value.
pub(crate) fn json(value: &Value) -> String {
    let mut shown = String::new();
    for ch in value.to_string().chars() {
        if must_escape(ch) || is_unusual_space(ch) {
            for unit in ch.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(ch);
        }
    }
    shown
}

/// Third-party text on one line: line ends and tabs become spaces, and text that is too long is cut.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let flat = plain(text).replace(['\n', '\t'], " ");
    let mut chars = flat.chars();
    let mut line: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

/// Whether a terminal would interpret it, or a reader would not see it.
fn must_escape(ch: char) -> bool {
    is_invisible(ch) || (ch.is_control() && ch != '\n' && ch != '\t')
}

/// Joiners of letters and emoji. They are harmless in text that is only read.
fn is_joiner(ch: char) -> bool {
    matches!(ch, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether it is visible and unambiguous on one line.
pub(super) fn is_visible(ch: char) -> bool {
    !is_invisible(ch) && !ch.is_control() && !is_unusual_space(ch)
}

/// White space that looks like a plain space.
fn is_unusual_space(ch: char) -> bool {
    ch.is_whitespace() && !ch.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(plain("a\x1b[2Jb\r"), "a\\u{1b}[2Jb\\u{d}");
        assert_eq!(plain("abc\u{202e}fed"), "abc\\u{202e}fed");
        assert_eq!(plain("line\n\tline"), "line\n\tline");
        assert!(matches!(plain("Grüße, 東京"), Cow::Borrowed(_)));
        assert!(matches!(
            plain("👩\u{200d}🔬 می\u{200c}خواهم"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn escaped_json_parses_as_the_same_value() {
        let value =
            serde_json::json!({ "to": "\u{202e}evil\u{1b}[2J", "tag": "\u{e0041}", "n": [1, "ä"] });
        let shown = json(&value);
        assert!(
            shown
                .chars()
                .all(|ch| !must_escape(ch) && !is_unusual_space(ch))
        );
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        assert_eq!(one_line("a\nb\tc", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("äöüß", 4), "äöüß");
    }
}
