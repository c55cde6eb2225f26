//! Word differences of third-party texts.

use std::time::Duration;

use anstyle::Style;
use similar::{ChangeTag, TextDiff};

use crate::terminal::style::{BAD, GOOD};
use crate::terminal::{Flow, plain};

/// The margin of third-party text.
const MARGIN: &str = "  │ ";

/// After this time a difference is coarser.
const TIMEOUT: Duration = Duration::from_secs(1);

/// How many words are shown on each side of a change.
const CONTEXT: usize = 8;

/// Signs for the begin and end of a removal and an addition, while lines are wrapped. They do not occur in the texts.
const SIGNS: [char; 3] = [REMOVAL, ADDITION, END];
const REMOVAL: char = '\u{e000}';
const ADDITION: char = '\u{e001}';
const END: char = '\u{e002}';

/// Returns the difference of two texts, word by word, as `[-removed-]` and `{+added+}`, in lines with a margin. Invisible
/// characters are made visible. Long parts that are equal are left out.
pub(super) fn word_diff(before: &str, after: &str, width: Option<usize>) -> String {
    let (before, after) = (readable(before), readable(after));
    let mut config = TextDiff::configure();
    let diff = config.timeout(TIMEOUT).diff_words(&before, &after);
    // Neighbouring words of the same kind are one part.
    let mut parts: Vec<(ChangeTag, Vec<&str>)> = Vec::new();
    for change in diff.iter_all_changes() {
        match parts.last_mut() {
            Some((tag, words)) if *tag == change.tag() => words.push(change.value()),
            _ => parts.push((change.tag(), vec![change.value()])),
        }
    }
    let last = parts.len().saturating_sub(1);
    let mut text = String::new();
    for (index, (tag, words)) in parts.iter().enumerate() {
        match tag {
            ChangeTag::Equal => text.push_str(&context(words, index == 0, index == last)),
            ChangeTag::Delete => {
                text.push_str(&format!("{REMOVAL}[-{}-]{END}", words.concat()));
            }
            ChangeTag::Insert => {
                text.push_str(&format!("{ADDITION}{{+{}+}}{END}", words.concat()));
            }
        }
    }
    coloured(&Flow::new(width, MARGIN).wrap(&text))
}

/// The text as it is shown: without control characters, with invisible characters made visible.
fn readable(text: &str) -> String {
    let text = turnwright_mcp::display_text(text);
    let text = plain(&text).into_owned();
    text.replace(SIGNS, "⟨private⟩")
}

/// The words next to a change. White space counts as a word.
fn context(words: &[&str], is_first: bool, is_last: bool) -> String {
    let sides = usize::from(!is_first) + usize::from(!is_last);
    if words.len() <= 2 * CONTEXT * sides.max(1) + 1 {
        return words.concat();
    }
    let (head, tail) = (words.get(..2 * CONTEXT), words.len() - 2 * CONTEXT);
    let head = head.filter(|_| !is_first).unwrap_or_default().concat();
    let tail = words.get(tail..).filter(|_| !is_last);
    let tail = tail.unwrap_or_default().concat();
    format!("{head} … {tail}")
}

/// Replaces the signs by colours. The margin has none.
fn coloured(lines: &str) -> String {
    let mut text = String::with_capacity(lines.len());
    let mut style = Style::new();
    for (index, line) in lines.split('\n').enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let (margin, rest) = match line.strip_prefix(MARGIN) {
            Some(rest) => (MARGIN, rest),
            None => ("", line),
        };
        text.push_str(margin);
        text.push_str(&style.render().to_string());
        for ch in rest.chars() {
            let next = match ch {
                REMOVAL => BAD,
                ADDITION => GOOD,
                END => Style::new(),
                ch => {
                    text.push(ch);
                    continue;
                }
            };
            text.push_str(&format!("{}{}", style.render_reset(), next.render()));
            style = next;
        }
        text.push_str(&style.render_reset().to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(before: &str, after: &str, width: Option<usize>) -> String {
        let text = word_diff(before, after, width);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn words_that_differ_are_marked() {
        assert_eq!(
            bare("Reads a file.", "Reads a secret\u{200b} file.", None),
            "  │ Reads a {+secret⟨U+200B⟩ +}file."
        );
        assert_eq!(bare("", "new", None), "  │ {+new+}");
        assert_eq!(bare("old", "", None), "  │ [-old-]");
    }

    #[test]
    fn every_line_has_the_margin_and_no_control_character_passes() {
        let after = "one\ntwo\r\u{1b}[2J three \u{e000} four five six seven";
        let text = bare("one", after, Some(20));
        assert!(text.lines().all(|line| line.starts_with("  │")), "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{e000}']), "{text}");
        let lines = word_diff("", "a long line of words that wraps", Some(20));
        for line in lines.lines() {
            assert!(line.starts_with("  │ \u{1b}"), "{line:?}");
            assert!(line.ends_with("\u{1b}[0m"), "{line:?}");
        }
    }

    #[test]
    fn long_equal_parts_are_left_out() {
        let words: Vec<String> = (0..200).map(|number| format!("w{number}")).collect();
        let before = words.join(" ");
        let text = bare(&before, &before.replace("w100", "changed"), None);
        assert!(
            text.contains("… ") && text.contains("[-w100-]{+changed+}"),
            "{text}"
        );
        assert!(text.contains("w99 ") && !text.contains("w50 "), "{text}");
    }
}
