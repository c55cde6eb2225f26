//! Lines in their order: from the beginning, from anywhere.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use super::forward::Forward;
use super::line::Line;
use super::show;
use super::source::{PIECE, Source};
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// Lines of an artifact, as many of those asked for as an answer has room for. As text it also says what was left out
/// and how to ask for it.
#[derive(Clone, Debug)]
pub struct Excerpt {
    lines: Vec<Line>,
    story: Story,
    line_count: Option<u64>,
    answer: usize,
}

/// What an answer says about itself.
#[derive(Clone, Debug)]
pub(super) enum Story {
    /// Read forward, up to a line: whether any line was asked for, from where it goes on, and whether lines that were asked
    /// for are still to come.
    Forward {
        asked: bool,
        next: Option<Next>,
        end: Option<u64>,
        cut: bool,
    },
    /// The last so many lines were asked for, and whether some of them are missing.
    Backward { asked: u64, cut: bool },
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) line: u64,
    pub(super) offset: u64,
}

impl SpooledArtifact {
    /// The first lines. Reads no more than an answer has room for.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
    pub async fn head(&self, lines: u64) -> Result<Excerpt, Error> {
        self.cat(0..lines).await
    }

    /// The lines of a range, clamped to those that there are.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
    pub async fn cat(&self, lines: impl RangeBounds<u64>) -> Result<Excerpt, Error> {
        self.cat_from(lines, 0).await
    }

    /// The lines of a range without the first `offset` bytes of the first one: for going on inside a long line.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
    pub async fn cat_from(
        &self,
        lines: impl RangeBounds<u64>,
        offset: u64,
    ) -> Result<Excerpt, Error> {
        let start = match lines.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match lines.end_bound() {
            Bound::Included(end) => Some(end.saturating_add(1)),
            Bound::Excluded(end) => Some(*end),
            Bound::Unbounded => None,
        };
        let artifact = self.clone();
        self.read_with(move |read| artifact.excerpt(&mut Source::new(read), start, end, offset))
            .await
    }

    fn excerpt(
        &self,
        source: &mut Source,
        start: u64,
        end: Option<u64>,
        offset: u64,
    ) -> Result<Excerpt, Error> {
        let index = &self.shared.lines;
        let room = super::page(self.limits.answer).room();
        let piece = (room + 512).clamp(4 * 1024, PIECE);
        let mut forward = Forward::new(source, index, piece);
        let mut gathered = Gathered::default();
        let asked = end.is_none_or(|end| start < end);
        if asked && forward.go_to(start)? {
            gathered = Gathered::from(&mut forward, end, offset, room)?;
            if gathered.next.is_none() {
                let last = gathered.lines.last().and_then(Line::number);
                index.learn_line_count(last.map_or(0, |last| last + 1));
            }
        }
        let Gathered { lines, next, cut } = gathered;
        Ok(Excerpt {
            lines,
            story: Story::Forward {
                asked,
                next,
                end,
                cut,
            },
            line_count: index.line_count(),
            answer: self.limits.answer,
        })
    }
}

/// Lines that fit into an answer.
#[derive(Default)]
struct Gathered {
    lines: Vec<Line>,
    next: Option<Next>,
    cut: bool,
}

impl Gathered {
    /// The lines from the one at hand on, without the first `offset` bytes, up to the line `end`.
    fn from(
        forward: &mut Forward<'_>,
        end: Option<u64>,
        offset: u64,
        room: usize,
    ) -> Result<Self, Error> {
        let mut gathered = Gathered::default();
        let mut skipped = forward.skip_in_line(offset)?;
        let mut left = room;
        while end.is_none_or(|end| forward.number() < end) {
            let number = forward.number();
            // Every byte takes at least one to show: of more than this, something is left out.
            let Some(taken) = forward.take(left.saturating_add(4))? else {
                break;
            };
            let line = Line::part(Some(number), Some(skipped), taken.bytes, false);
            if !taken.whole || line.cost() > left {
                gathered.end_before(number, line, left);
                return Ok(gathered);
            }
            left -= line.cost();
            gathered.lines.push(line);
            skipped = 0;
        }
        if !forward.at_end() {
            let (line, offset) = (forward.number(), 0);
            gathered.next = Some(Next { line, offset });
        }
        Ok(gathered)
    }

    /// A line that does not fit is left to the next answer, unless it is the first: then as much as fits is shown.
    fn end_before(&mut self, number: u64, line: Line, left: usize) {
        self.cut = true;
        let mut offset = 0;
        if self.lines.is_empty() {
            let fitting = show::fitting(line.bytes(), left.saturating_sub(1));
            offset = line.offset().unwrap_or_default() + fitting as u64;
            self.lines.push(line.cut_after(fitting));
        }
        let line = number;
        self.next = Some(Next { line, offset });
    }
}

impl Excerpt {
    pub(super) fn new(
        lines: Vec<Line>,
        story: Story,
        line_count: Option<u64>,
        answer: usize,
    ) -> Self {
        Excerpt {
            lines,
            story,
            line_count,
            answer,
        }
    }

    /// The lines, in their order.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Whether something that was asked for had no room.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        match self.story {
            Story::Forward { cut, .. } | Story::Backward { cut, .. } => cut,
        }
    }

    /// Where the artifact goes on after these lines: the line, and how many bytes of it were there already. `None` at its
    /// end, and after lines that were looked for from the end.
    #[must_use]
    pub fn next(&self) -> Option<(u64, u64)> {
        match self.story {
            Story::Forward { next, .. } => next.map(|next| (next.line, next.offset)),
            Story::Backward { .. } => None,
        }
    }

    /// How many lines the artifact has, if that is known by now.
    #[must_use]
    pub fn line_count(&self) -> Option<u64> {
        self.line_count
    }

    /// The lines as an answer, with notes that say what was left out and how to ask for it.
    #[must_use]
    pub fn to_answer(&self) -> String {
        let mut page = super::page(self.answer);
        let mut escaped = false;
        let mut text = String::new();
        for line in &self.lines {
            text.clear();
            escaped |= show::show(line.bytes(), &mut text);
            // What was collected fits: it was measured by the same rule.
            let _fits = page.line(&text);
        }
        if let Some(note) = self.note() {
            page.note(&note);
        }
        if escaped {
            page.note(show::NOTE);
        }
        page.finish()
    }

    fn note(&self) -> Option<String> {
        match &self.story {
            Story::Forward { asked: false, .. } => {
                Some("no line was asked for: end must be above start".to_owned())
            }
            Story::Forward { next, end, cut, .. } => self.note_on_going_on(*next, *end, *cut),
            Story::Backward { asked, cut } => self.note_on_the_end(*asked, *cut),
        }
    }

    fn note_on_going_on(&self, next: Option<Next>, end: Option<u64>, cut: bool) -> Option<String> {
        let Some(next) = next else {
            return self.lines.is_empty().then(|| self.note_on_nothing());
        };
        let Next { line, offset } = next;
        if !cut {
            return Some(format!(
                "more lines follow: go on with artifact_cat start={line}"
            ));
        }
        let to = end.map_or_else(String::new, |end| format!(" end={end}"));
        Some(if offset > 0 {
            format!(
                "line {line} is long and goes on after its byte {offset}: go on with artifact_cat start={line} offset={offset}{to}"
            )
        } else {
            format!("not all lines fit: go on with artifact_cat start={line}{to}")
        })
    }

    fn note_on_nothing(&self) -> String {
        match self.line_count {
            Some(1) => "no lines in this range: the artifact has 1 line, number 0".to_owned(),
            Some(count) if count > 1 => {
                let last = count - 1;
                format!("no lines in this range: the artifact has {count} lines, 0 to {last}")
            }
            _ => "the artifact is empty".to_owned(),
        }
    }

    fn note_on_the_end(&self, asked: u64, cut: bool) -> Option<String> {
        let shown = self.lines.len() as u64;
        let Some(first) = self.lines.first() else {
            return Some(match self.line_count {
                Some(0) => "the artifact is empty".to_owned(),
                _ => "no line was asked for: n must be at least 1".to_owned(),
            });
        };
        if first.offset() != Some(0) {
            let bytes = first.bytes().len();
            let left_out = match first.offset() {
                Some(offset) => format!("the first {offset} bytes of the last line are left out"),
                None => format!("only the last {bytes} bytes of the last line are shown"),
            };
            return Some(match first.number() {
                Some(number) => {
                    format!("{left_out}: artifact_cat start={number} reads it from its beginning")
                }
                None => format!(
                    "{left_out}: artifact_line_count says the number N of lines, artifact_cat with start=N-1 reads the last one from its beginning"
                ),
            });
        }
        match (first.number(), cut) {
            (Some(0), _) => None,
            (Some(first), true) => {
                let from = (first + shown).saturating_sub(asked);
                Some(format!(
                    "not all lines fit: the ones before are artifact_cat start={from} end={first}"
                ))
            }
            (Some(first), false) => Some(format!(
                "these are lines {first} to {}",
                first + shown.saturating_sub(1)
            )),
            (None, true) => Some(format!(
                "not all lines fit, these are the last {shown}: artifact_line_count says the number N of lines, the ones before are artifact_cat with start=N-{asked} end=N-{shown}"
            )),
            (None, false) => None,
        }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_answer())
    }
}
