//! Lines in their order: from the beginning, from anywhere.

use std::ops::RangeBounds;

use super::forward::Forward;
use super::line::Line;
use super::show;
use super::source::{PIECE, Source};
use crate::artifact::{SpooledArtifact, half_open};
use crate::error::Error;

/// Lines of an artifact, as many of those asked for as an answer has room for. As text it also says what was left out
/// and how to ask for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Excerpt {
    /// The lines, in their order.
    pub lines: Vec<Line>,
    /// Whether something that was asked for had no room.
    pub is_cut: bool,
    /// Where the artifact goes on after these lines: the line, and how many bytes of it were there already. `None` at its
    /// end, and after lines that were looked for from the end.
    pub next: Option<(u64, u64)>,
    /// How many lines the artifact has, if that is known by now.
    pub line_count: Option<u64>,
    /// What was left out, and how to ask for it.
    pub(super) note: Option<String>,
    pub(super) answer: usize,
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
    pub(crate) async fn cat_from(
        &self,
        lines: impl RangeBounds<u64>,
        offset: u64,
    ) -> Result<Excerpt, Error> {
        let (start, end) = half_open(&lines);
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
        let mut excerpt = Excerpt {
            lines: Vec::new(),
            is_cut: false,
            next: None,
            line_count: None,
            note: None,
            answer: self.limits.answer,
        };
        if end.is_some_and(|end| end <= start) {
            excerpt.note = Some("no line was asked for: end must be above start".to_owned());
            excerpt.line_count = index.line_count();
            return Ok(excerpt);
        }
        if forward.go_to(start)? {
            excerpt.gather(&mut forward, end, offset, room)?;
            if excerpt.next.is_none() {
                let last = excerpt.lines.last().and_then(|line| line.number);
                index.learn_line_count(last.map_or(0, |last| last + 1));
            }
        }
        excerpt.line_count = index.line_count();
        excerpt.note = excerpt.continuation(end);
        Ok(excerpt)
    }
}

impl Excerpt {
    /// Takes the lines from the one at hand on, without the first `offset` bytes, up to the line `end`.
    fn gather(
        &mut self,
        forward: &mut Forward<'_>,
        end: Option<u64>,
        offset: u64,
        room: usize,
    ) -> Result<(), Error> {
        let mut skipped = forward.skip_in_line(offset)?;
        let mut left = room;
        while end.is_none_or(|end| forward.number() < end) {
            let number = forward.number();
            // Every byte takes at least one to show: of more than this, something is left out.
            let Some(taken) = forward.take(left.saturating_add(4))? else {
                break;
            };
            let mut line = Line {
                number: Some(number),
                offset: Some(skipped),
                bytes: taken.bytes,
                goes_on: false,
            };
            if !taken.is_complete || line.cost() > left {
                // It is left to the next answer, unless it is the first: then as much as fits is shown.
                self.is_cut = true;
                let mut offset = 0;
                if self.lines.is_empty() {
                    let fitting = show::fitting(&line.bytes, left.saturating_sub(1));
                    offset = skipped + fitting as u64;
                    line.bytes.truncate(fitting);
                    line.goes_on = true;
                    self.lines.push(line);
                }
                self.next = Some((number, offset));
                return Ok(());
            }
            left -= line.cost();
            self.lines.push(line);
            skipped = 0;
        }
        self.next = (!forward.at_end()).then(|| (forward.number(), 0));
        Ok(())
    }

    /// The lines as an answer, with notes that say what was left out and how to ask for it.
    #[must_use]
    pub fn to_answer(&self) -> String {
        let mut page = super::page(self.answer);
        let mut escaped = false;
        let mut text = String::new();
        for line in &self.lines {
            text.clear();
            escaped |= show::show(&line.bytes, &mut text);
            // What was collected fits: it was measured by the same rule.
            let _fits = page.line(&text);
        }
        page.note(self.note.as_deref().unwrap_or_default());
        page.note(if escaped { show::NOTE } else { "" });
        page.finish()
    }

    fn continuation(&self, end: Option<u64>) -> Option<String> {
        let to = end.map_or_else(String::new, |end| format!(" end={end}"));
        match (self.next, self.line_count) {
            (Some((line, _)), _) if !self.is_cut => Some(format!(
                "more lines follow: go on with artifact_cat start={line}"
            )),
            (Some((line, 0)), _) => Some(format!(
                "not all lines fit: go on with artifact_cat start={line}{to}"
            )),
            (Some((line, offset)), _) => Some(format!(
                "line {line} is long and goes on after its byte {offset}: go on with artifact_cat start={line} offset={offset}{to}"
            )),
            (None, _) if !self.lines.is_empty() => None,
            (None, Some(1)) => {
                Some("no lines in this range: the artifact has 1 line, number 0".to_owned())
            }
            (None, Some(count @ 2..)) => Some(format!(
                "no lines in this range: the artifact has {count} lines, 0 to {}",
                count - 1
            )),
            (None, _) => Some("the artifact is empty".to_owned()),
        }
    }
}
