//! Text of others, as it may stand on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use turnwright::schema::is_unseen;

/// The text with everything escaped that a terminal would obey or a reader not see: control characters, and those that
/// change the direction of what follows. Line ends and tabs stay, and so do the joiners that some scripts are written with.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let must_escape = |ch: char| must_escape(ch) && !is_joiner(ch);
    if !text.chars().any(must_escape) {
        return Cow::Borrowed(text);
    }
    let shown = |ch: char| match must_escape(ch) {
        true => ch.escape_unicode().to_string(),
        false => ch.to_string(),
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// A value as JSON text of which a terminal obeys nothing and a reader sees everything: it reads as the same value again.
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

/// Text of others on one line: line ends and tabs become spaces, and what is too long is cut.
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

/// What a terminal obeys, or a reader does not see.
fn must_escape(ch: char) -> bool {
    is_unseen(ch) || (ch.is_control() && ch != '\n' && ch != '\t')
}

/// The signs by which some scripts join letters and emoji are made: they harm nobody who only reads.
fn is_joiner(ch: char) -> bool {
    matches!(ch, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether it is seen for what it is, on one line.
pub(super) fn is_visible(ch: char) -> bool {
    !is_unseen(ch) && !ch.is_control() && !is_unusual_space(ch)
}

/// White space that looks like another.
fn is_unusual_space(ch: char) -> bool {
    ch.is_whitespace() && !ch.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_and_not_obeyed() {
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
    fn json_reads_as_what_it_was() {
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
    fn a_line_is_cut_where_it_is_too_long() {
        assert_eq!(one_line("a\nb\tc", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("äöüß", 4), "äöüß");
    }
}
