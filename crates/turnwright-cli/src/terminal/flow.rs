//! Text that arrives in pieces, broken between words.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What a tab is written as where columns are counted.
const TAB: &str = "    ";

/// Breaks lines between words as pieces come in. A word is held back until its end is seen, no longer.
pub(crate) struct Flow {
    /// The columns of a line; none where nobody counts them.
    width: Option<usize>,
    indent: &'static str,
    column: usize,
    /// The word of which the end was not seen yet, with the white space before it.
    space: String,
    word: String,
}

impl Flow {
    pub(crate) fn new(width: Option<usize>, indent: &'static str) -> Self {
        Flow {
            width: usable(width, indent),
            indent,
            column: 0,
            space: String::new(),
            word: String::new(),
        }
    }

    /// The window has this width from now on.
    pub(crate) fn resize(&mut self, width: Option<usize>) {
        self.width = usable(width, self.indent);
    }

    /// What may be written now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for sign in piece.chars() {
            match sign {
                '\n' => {
                    self.end_word(&mut out);
                    self.space.clear();
                    out.push('\n');
                    self.column = 0;
                }
                ' ' => {
                    self.end_word(&mut out);
                    self.space.push(' ');
                }
                // How wide a tab is depends on where it stands: there would be no counting.
                '\t' if self.width.is_some() => {
                    self.end_word(&mut out);
                    self.space.push_str(TAB);
                }
                _ => self.word.push(sign),
            }
        }
        // Where nobody counts columns nothing need be held back.
        if self.width.is_none() {
            self.end_word(&mut out);
        }
        out
    }

    /// What was held back.
    pub(crate) fn end(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        self.space.clear();
        out
    }

    /// Whether the last line has something on it.
    pub(crate) fn is_within_line(&self) -> bool {
        self.column > 0
    }

    fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let (space, word) = (self.space.width(), self.word.width());
        let full = |width: usize| self.column + space + word > width;
        if self.column > self.indent.width() && self.width.is_some_and(full) {
            out.push('\n');
            self.column = 0;
            self.space.clear();
        }
        if self.column == 0 {
            out.push_str(self.indent);
            self.column = self.indent.width();
            // Space before the first word gives way to it.
            if let Some(width) = self.width {
                let room = width.saturating_sub(self.column + word);
                self.space.truncate(room);
            }
        }
        out.push_str(&self.space);
        self.column += self.space.width();
        self.space.clear();
        out.push_str(&self.word);
        self.column += word;
        if let Some(width) = self.width {
            // A word longer than the line was broken by the terminal.
            self.column = wrapped(self.column, width);
        }
        self.word.clear();
    }
}

/// A line that is full to its last column is still the same line.
fn wrapped(column: usize, width: usize) -> usize {
    match column {
        0 => 0,
        column => (column - 1) % width + 1,
    }
}

/// A whole text, broken between words.
pub(crate) fn wrap(text: &str, width: Option<usize>, indent: &'static str) -> String {
    let mut flow = Flow::new(width, indent);
    let mut wrapped = flow.push(text);
    wrapped.push_str(&flow.end());
    wrapped
}

/// Narrower than this, words are cut by the terminal whatever we do.
fn usable(width: Option<usize>, indent: &str) -> Option<usize> {
    width.filter(|width| *width >= indent.width() + 8)
}

/// The text cut to so many columns.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for sign in text.chars() {
        used += sign.width().unwrap_or(0);
        if used > columns {
            break;
        }
        cut.push(sign);
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
    fn a_line_that_is_full_has_not_ended() {
        let mut flow = Flow::new(Some(10), "");
        let text = flow.push("a0123456789012345678") + &flow.end();
        assert_eq!((text.len(), flow.is_within_line()), (20, true));
    }

    #[test]
    fn a_tab_is_as_wide_as_it_is_counted() {
        assert_eq!(flow(16, &["\tif x {\n\t\ty"]), "      if x {\n          y");
    }

    #[test]
    fn what_is_too_wide_is_cut() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde…");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference_and_no_word_is_lost(text in "[a-zé東 \n]{0,80}", cuts in prop::collection::vec(0usize..80, 0..6), width in 10usize..40) {
            let whole = flow(width, &[&text]);
            let mut places: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut) && *cut <= text.len()).collect();
            places.sort_unstable();
            let mut pieces = Vec::new();
            let mut last = 0;
            for place in places {
                pieces.push(&text[last..place]);
                last = place;
            }
            pieces.push(&text[last..]);
            prop_assert_eq!(&flow(width, &pieces), &whole);
            prop_assert_eq!(whole.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
            let fits = |word: &str| word.width() + 2 <= width;
            if text.split_whitespace().all(fits) {
                prop_assert!(whole.lines().all(|line| line.width() <= width));
            }
        }
    }
}
