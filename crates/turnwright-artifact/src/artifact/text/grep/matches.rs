//! Matching lines, formatted as a page.

use super::Grep;
use crate::artifact::Page;
use crate::artifact::text::show::{self, Line};

/// A matching line or a line of context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundLine {
    /// The line number, starting at 0.
    pub number: u64,
    /// The text. A long matching line is shown in part, starting near the match.
    pub line: Line,
    /// Whether the line matches. If `false`, it is a line of context.
    pub matches: bool,
}

/// The lines of an artifact that match a pattern, with their context, limited by the size of a page.
/// [`to_page`](Matches::to_page) adds what was omitted and how to continue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Matches {
    /// The lines, in order.
    pub lines: Vec<FoundLine>,
    /// Number of matching lines from the start of the search to the end of the artifact, including those not shown.
    pub total: u64,
    /// The first matching line that is not shown: the `start` of the next query.
    pub next: Option<u64>,
    /// Whether some lines were so long that they were searched in overlapping windows. A match longer than the overlap may have
    /// been missed.
    pub windowed: bool,
    pub(super) context_cut: bool,
    grep: Grep,
    page_size: usize,
}

impl FoundLine {
    pub(super) fn new(number: u64, line: Line, matches: bool) -> Self {
        let line = Line {
            number: Some(number),
            ..line
        };
        FoundLine {
            number,
            line,
            matches,
        }
    }

    /// The prefix of the line on a page.
    fn label(&self) -> String {
        let mark = if self.matches { ':' } else { '-' };
        match self.line.offset {
            Some(offset) if !self.line.is_complete() => format!("{}+{offset}{mark}", self.number),
            _ => format!("{}{mark}", self.number),
        }
    }

    pub(super) fn cost(&self) -> usize {
        self.label().len() + self.line.cost()
    }
}

/// Separates lines that are not adjacent.
pub(super) const GAP: &str = "--";

impl Matches {
    pub(super) fn new(grep: &Grep, page_size: usize) -> Self {
        Matches {
            lines: Vec::new(),
            total: 0,
            next: None,
            windowed: false,
            context_cut: false,
            grep: grep.clone(),
            page_size,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.lines.len() as u64 >= self.grep.max
    }

    /// Formats the lines as a page: `12:text` for a matching line, `11-text` for a line of context, `--` between lines that
    /// are not adjacent. Notes say what was omitted and how to continue.
    #[must_use]
    pub fn to_page(&self) -> String {
        let mut page = Page::new(self.page_size);
        let mut escaped = false;
        let mut last: Option<&FoundLine> = None;
        for line in &self.lines {
            if self.grep.context > 0 && last.is_some_and(|last| last.number + 1 != line.number) {
                let _fits = page.line(GAP);
            }
            let mut text = line.label();
            escaped |= show::show(&line.line.bytes, &mut text);
            // The lines fit: the same rule was used to collect them.
            let _fits = page.line(&text);
            last = Some(line);
        }
        for note in self.notes() {
            page.note(&note);
        }
        if escaped {
            page.note(show::NOTE);
        }
        page.finish()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let shown = self.lines.iter().filter(|line| line.matches).count();
        let total = self.total;
        if total == 0 {
            notes.push(self.note_on_nothing());
        } else if let Some(next) = self.next {
            let from = self.beginning();
            notes.push(format!(
                "{shown} of {total} matching lines{from} shown: continue with start={next}"
            ));
        }
        if let Some(cut) = self.lines.iter().find(|line| !line.line.is_complete()) {
            let (number, offset) = (cut.number, cut.line.offset.unwrap_or_default());
            notes.push(format!(
                "long lines are truncated; N+B means line N from byte B: read more with artifact_cat start={number} offset={offset}"
            ));
        }
        if self.context_cut {
            notes.push("not all context fits: request less context or use artifact_cat".to_owned());
        }
        if self.windowed {
            let overlap = self.grep.sizes.overlap;
            notes.push(format!(
                "a line longer than {} bytes was searched in windows: matches longer than {overlap} bytes may have been missed",
                self.grep.sizes.line
            ));
        }
        notes
    }

    fn note_on_nothing(&self) -> String {
        let mut hints = Vec::new();
        if !self.grep.ignore_case {
            hints.push("flags=\"i\"");
        }
        if !self.grep.literal
            && self
                .grep
                .pattern
                .contains(|c: char| c.is_ascii_punctuation())
        {
            hints.push("literal=true");
        }
        if self.grep.start > 0 {
            hints.push("start=0");
        }
        if hints.is_empty() {
            hints.push("a shorter pattern");
        }
        let hints = hints.join(" or ");
        format!("no line matches{}: try {hints}", self.beginning())
    }

    fn beginning(&self) -> String {
        match self.grep.start {
            0 => String::new(),
            start => format!(" from line {start}"),
        }
    }
}
