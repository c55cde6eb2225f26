//! Text of others, as it may stand on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use turnwright::schema::is_unseen;

/// The text with everything escaped that a terminal would obey or a reader not see: control characters, and those that
/// change the direction of what follows. Line ends and tabs stay, and so do the joiners that some scripts are written with.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let is_sly = |sign: char| is_sly(sign) && !joins(sign);
    if !text.chars().any(is_sly) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for sign in text.chars() {
        if is_sly(sign) {
            // Writing into a string cannot fail.
            let _ = write!(shown, "{}", sign.escape_unicode());
        } else {
            shown.push(sign);
        }
    }
    Cow::Owned(shown)
}

/// A value as JSON text of which a terminal obeys nothing and a reader sees everything: it reads as the same value again.
pub(crate) fn json(value: &Value) -> String {
    let mut shown = String::new();
    for sign in value.to_string().chars() {
        if is_sly(sign) || is_odd_space(sign) {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(sign);
        }
    }
    shown
}

/// Text of others on one line: line ends and tabs become spaces, and what is too long is cut.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let flat: String = plain(text)
        .chars()
        .map(|sign| {
            if matches!(sign, '\n' | '\t') {
                ' '
            } else {
                sign
            }
        })
        .collect();
    let mut signs = flat.chars();
    let mut line: String = signs.by_ref().take(most).collect();
    if signs.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

/// What a terminal obeys, or a reader does not see.
fn is_sly(sign: char) -> bool {
    is_unseen(sign) || (sign.is_control() && sign != '\n' && sign != '\t')
}

/// The signs by which some scripts join letters and emoji are made: they harm nobody who only reads.
fn joins(sign: char) -> bool {
    matches!(sign, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether it is seen for what it is, on one line.
pub(super) fn is_plain_to_see(sign: char) -> bool {
    !is_unseen(sign) && !sign.is_control() && !is_odd_space(sign)
}

/// White space that looks like another.
fn is_odd_space(sign: char) -> bool {
    sign.is_whitespace() && !sign.is_ascii()
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
                .all(|sign| !is_sly(sign) && !is_odd_space(sign))
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
