//! Wraps text that arrives in pieces.

use unicode_width::UnicodeWidthChar as _;

/// Replaces a tab if columns are counted.
const TAB: &str = "    ";

/// The margin before each line of text by a model or another third party. No output of the program itself begins like this, so
/// such text cannot imitate a question of the program.
pub(crate) const MARGIN: &str = "│ ";

/// Breaks lines between words as pieces arrive. A word is held back until its end is known. A word that is wider than a line is
/// broken too: a terminal would continue it in the first column, before the indent.
pub(crate) struct Flow {
    /// The columns of a line. `None`: unlimited.
    width: Option<usize>,
    /// What the next line begins with. The first line may differ from the others.
    begin: &'static str,
    indent: &'static str,
    column: usize,
    /// The word whose end is not known yet, with the white space before it.
    space: String,
    word: String,
}

impl Flow {
    pub(crate) fn new(width: Option<usize>, indent: &'static str) -> Self {
        Flow::hanging(width, indent, indent)
    }

    /// Text whose first line begins with `first`, and each other one with `indent`.
    pub(crate) fn hanging(width: Option<usize>, first: &'static str, indent: &'static str) -> Self {
        Flow {
            width: usable(width, indent),
            begin: first,
            indent,
            column: 0,
            space: String::new(),
            word: String::new(),
        }
    }

    /// Changes the width.
    pub(crate) fn resize(&mut self, width: Option<usize>) {
        self.width = usable(width, self.indent);
    }

    /// Returns what can be written now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for ch in piece.chars() {
            match ch {
                '\n' => {
                    self.end_word(&mut out);
                    if self.column == 0 {
                        out.push_str(self.begin.trim_end());
                    }
                    self.end_line(&mut out);
                }
                ' ' => {
                    self.end_word(&mut out);
                    self.space.push(' ');
                }
                // The width of a tab depends on its position.
                '\t' if self.width.is_some() => {
                    self.end_word(&mut out);
                    self.space.push_str(TAB);
                }
                _ => self.word.push(ch),
            }
        }
        // Without a width nothing has to be held back.
        if self.width.is_none() {
            self.end_word(&mut out);
        }
        out
    }

    /// Returns what was held back.
    pub(crate) fn end(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        self.space.clear();
        out
    }

    /// Wraps a complete text.
    pub(crate) fn wrap(mut self, text: &str) -> String {
        self.push(text) + &self.end()
    }

    /// Whether the last line is not empty.
    pub(crate) fn is_within_line(&self) -> bool {
        self.column > 0
    }

    fn end_line(&mut self, out: &mut String) {
        out.push('\n');
        self.begin = self.indent;
        self.column = 0;
        self.space.clear();
    }

    fn begin_line(&mut self, out: &mut String) {
        out.push_str(self.begin);
        self.column = columns(self.begin);
    }

    fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let needed = columns(&self.space) + columns(&word);
        let full = |width: usize| self.column + needed > width;
        if self.column > columns(self.begin) && self.width.is_some_and(full) {
            self.end_line(out);
        }
        if self.column == 0 {
            self.begin_line(out);
            // Indentation is cut if the first word would not fit.
            if let Some(width) = self.width {
                let room = width.saturating_sub(self.column + columns(&word));
                self.space.truncate(room);
            }
        }
        out.push_str(&self.space);
        self.column += columns(&self.space);
        self.space.clear();
        for ch in word.chars() {
            let wide = columns_of(ch);
            let full = |width: usize| self.column + wide > width;
            if self.width.is_some_and(full) {
                self.end_line(out);
                self.begin_line(out);
            }
            out.push(ch);
            self.column += wide;
        }
    }
}

/// Wraps a complete text between words.
pub(crate) fn wrap(text: &str, width: Option<usize>, indent: &'static str) -> String {
    Flow::new(width, indent).wrap(text)
}

/// The width, but at least room for the indent and one wide character.
fn usable(width: Option<usize>, indent: &str) -> Option<usize> {
    width.map(|width| width.max(columns(indent) + 2))
}

/// The most columns that a terminal may need for a text. Each character counts by itself: not every terminal joins emoji and
/// their modifiers.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The most columns that a terminal may need for a character.
pub(super) fn columns_of(ch: char) -> usize {
    match ch {
        // Makes the character before it an emoji, which some terminals show wider.
        '\u{fe0f}' => 1,
        ch => ch.width().unwrap_or(0),
    }
}

/// Cuts a text to a number of columns.
pub(crate) fn fit(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for ch in text.chars() {
        used += columns_of(ch);
        if used > most {
            break;
        }
        cut.push(ch);
    }
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow(width: usize, pieces: &[&str]) -> String {
        let mut flow = Flow::new(Some(width), "  ");
        let mut out: String = pieces.iter().map(|piece| flow.push(piece)).collect();
        out.push_str(&flow.end());
        out
    }

    #[test]
    fn lines_are_broken_between_words() {
        let text = flow(16, &["one two thr", "ee four five"]);
        assert_eq!(text, "  one two three\n  four five");
        assert_eq!(flow(16, &["a\n\nb"]), "  a\n\n  b");
        assert_eq!(flow(10, &["    123456"]), "    123456");
        assert_eq!(
            flow(16, &["東京都 東京都 東京都"]),
            "  東京都 東京都\n  東京都"
        );
    }

    #[test]
    fn a_word_wider_than_a_line_is_broken_behind_the_indent() {
        assert_eq!(flow(10, &["a 0123456789 b"]), "  a\n  01234567\n  89 b");
        assert_eq!(flow(10, &["\u{a0}".repeat(9).as_str()]).lines().count(), 2);
        assert_eq!(flow(6, &["東京都"]), "  東京\n  都");
        // Also in a window that is too narrow.
        assert_eq!(flow(1, &["abc"]), "  ab\n  c");
    }

    #[test]
    fn the_first_line_may_have_another_indent() {
        let mut flow = Flow::hanging(Some(12), "", MARGIN);
        let text = flow.push("no answer: it broke\n\nwhy") + &flow.end();
        assert_eq!(text, "no answer:\n│ it broke\n│\n│ why");
    }

    #[test]
    fn joined_emoji_count_separately() {
        assert_eq!(columns("👩\u{200d}🔬"), 4);
        assert_eq!(columns("❤\u{fe0f}"), 2);
    }

    #[test]
    fn a_tab_becomes_four_spaces() {
        assert_eq!(flow(16, &["\tif x {\n\t\ty"]), "      if x {\n          y");
    }

    #[test]
    fn text_that_is_too_wide_is_cut() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde…");
    }

    proptest! {
        #[test]
        fn pieces_do_not_change_the_result_and_no_word_is_lost(text in "[a-zé東 \n]{0,80}", cuts in prop::collection::vec(0usize..80, 0..6), width in 10usize..40) {
            let full = flow(width, &[&text]);
            let mut places: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut) && *cut <= text.len()).collect();
            places.sort_unstable();
            let mut pieces = Vec::new();
            let mut last = 0;
            for place in places {
                pieces.push(&text[last..place]);
                last = place;
            }
            pieces.push(&text[last..]);
            prop_assert_eq!(&flow(width, &pieces), &full);
            let chars = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(chars(&full), chars(&text));
            prop_assert!(full.lines().all(|line| columns(line) <= width));
            let fits = |word: &str| columns(word) + 2 <= width;
            if text.split_whitespace().all(fits) {
                prop_assert_eq!(full.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
            }
        }
    }
}
