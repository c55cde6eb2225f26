//! Matching lines as an answer.

use super::Grep;
use crate::artifact::text::line::Line;
use crate::artifact::text::{page, show};

/// A line that matches, or one that stands near such a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundLine {
    /// Its number, counted from 0.
    pub number: u64,
    /// What it says. A long line that matches is shown in part, from near the match on.
    pub line: Line,
    /// Whether it matches; otherwise it stands near one that does.
    pub matches: bool,
}

/// The lines of an artifact that match a pattern, as many as there was room for, with the lines around them if they were
/// asked for. As text it also says what was left out and how to ask for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Matches {
    /// The lines, in their order.
    pub lines: Vec<FoundLine>,
    /// How many lines match, from where the search began to the end, shown or not.
    pub total: u64,
    /// The first matching line that is not among these: where to start again.
    pub next: Option<u64>,
    /// Whether there were lines so long that they were searched in windows, where a match that is longer than what two
    /// windows have in common may have been missed.
    pub windowed: bool,
    pub(super) context_cut: bool,
    grep: Grep,
    answer: usize,
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

    /// What stands before it in an answer.
    fn label(&self) -> String {
        let mark = if self.matches { ':' } else { '-' };
        match self.line.offset {
            Some(offset) if !self.line.is_whole() => format!("{}+{offset}{mark}", self.number),
            _ => format!("{}{mark}", self.number),
        }
    }

    pub(super) fn cost(&self) -> usize {
        self.label().len() + self.line.cost()
    }
}

/// Stands between lines that do not follow each other.
pub(super) const GAP: &str = "--";

impl Matches {
    pub(super) fn new(grep: &Grep, answer: usize) -> Self {
        Matches {
            lines: Vec::new(),
            total: 0,
            next: None,
            windowed: false,
            context_cut: false,
            grep: grep.clone(),
            answer,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.lines.len() as u64 >= self.grep.max
    }

    /// The lines as an answer: `12:text` for a line that matches, `11-text` for one beside it, `--` between lines that do
    /// not follow each other, and notes that say what was left out and how to ask for it.
    #[must_use]
    pub fn to_answer(&self) -> String {
        let mut page = page(self.answer);
        let mut escaped = false;
        let mut last: Option<&FoundLine> = None;
        for line in &self.lines {
            if self.grep.context > 0 && last.is_some_and(|last| last.number + 1 != line.number) {
                let _fits = page.line(GAP);
            }
            let mut text = line.label();
            escaped |= show::show(&line.line.bytes, &mut text);
            // What was collected fits: it was measured by the same rule.
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
                "{shown} of {total} matching lines{from} shown: go on with start={next}"
            ));
        }
        if let Some(cut) = self.lines.iter().find(|line| !line.line.is_whole()) {
            let (number, offset) = (cut.number, cut.line.offset.unwrap_or_default());
            notes.push(format!(
                "long lines are shown in part, N+B being line N from its byte B on: artifact_cat start={number} offset={offset} reads on there"
            ));
        }
        if self.context_cut {
            notes.push("not all context fits: ask for less, or use artifact_cat".to_owned());
        }
        if self.windowed {
            let overlap = self.grep.sizes.overlap;
            notes.push(format!(
                "a line beyond {} bytes was searched in windows: a match longer than {overlap} bytes may be missed in it",
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
            start => format!(" from line {start} on"),
        }
    }
}
