//! Ranges of lines.

use std::ops::RangeBounds;

use super::forward::Forward;
use super::forward::{PIECE, Source};
use super::show::{self, Line};
use crate::artifact::{Page, SpooledArtifact, half_open};
use crate::error::Error;

/// A range of lines, limited by the size of a page. [`to_page`](Excerpt::to_page) adds what was omitted and how to
/// continue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Excerpt {
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// Whether requested content was omitted because it did not fit.
    pub is_truncated: bool,
    /// Where the artifact continues after these lines: the line, and how many of its bytes were shown. `None` at the end of the
    /// artifact, and for lines that were read from the end.
    pub next: Option<(u64, u64)>,
    /// Number of lines of the artifact, if known.
    pub line_count: Option<u64>,
    /// What was omitted and how to request it.
    pub(super) note: Option<String>,
    pub(super) page_size: usize,
}

impl SpooledArtifact {
    /// Returns the first lines. Reads no more than fits on a page.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn head(&self, lines: u64) -> Result<Excerpt, Error> {
        self.cat(0..lines).await
    }

    /// Returns a range of lines, clamped to the existing ones.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn cat(&self, lines: impl RangeBounds<u64>) -> Result<Excerpt, Error> {
        self.cat_from(lines, 0).await
    }

    /// Returns a range of lines without the first `offset` bytes of its first line. Use it to continue within a long line.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
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
        let room = self.page().remaining();
        let piece = (room + 512).clamp(4 * 1024, PIECE);
        let mut forward = Forward::new(source, index, piece);
        let mut excerpt = Excerpt {
            lines: Vec::new(),
            is_truncated: false,
            next: None,
            line_count: None,
            note: None,
            page_size: self.limits.page,
        };
        if end.is_some_and(|end| end <= start) {
            excerpt.note =
                Some("the range is empty: `end` must be greater than `start`".to_owned());
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
    /// Reads lines from the current one up to line `end`, without the first `offset` bytes.
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
            // Every byte takes at least one byte to show. If the line is longer than this, a part is omitted.
            let Some(taken) = forward.take(left.saturating_add(4))? else {
                break;
            };
            let mut line = Line {
                number: Some(number),
                offset: Some(skipped),
                bytes: taken.bytes,
                continues: false,
            };
            if !taken.is_complete || line.cost() > left {
                // Leave the line to the next page, unless it is the first one. Then show as much as fits.
                self.is_truncated = true;
                let mut offset = 0;
                if self.lines.is_empty() {
                    let fitting = show::fitting(&line.bytes, left.saturating_sub(1));
                    offset = skipped + fitting as u64;
                    line.bytes.truncate(fitting);
                    line.continues = true;
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

    /// Formats the lines as a page, with notes about what was omitted and how to continue.
    #[must_use]
    pub fn to_page(&self) -> String {
        let mut page = Page::new(self.page_size);
        let mut escaped = false;
        let mut text = String::new();
        for line in &self.lines {
            text.clear();
            escaped |= show::show(&line.bytes, &mut text);
            // The lines fit: the same rule was used to collect them.
            let _fits = page.line(&text);
        }
        page.note(self.note.as_deref().unwrap_or_default());
        page.note(if escaped { show::NOTE } else { "" });
        page.finish()
    }

    fn continuation(&self, end: Option<u64>) -> Option<String> {
        let to = end.map_or_else(String::new, |end| format!(" end={end}"));
        match (self.next, self.line_count) {
            (Some((line, _)), _) if !self.is_truncated => Some(format!(
                "more lines follow: continue with artifact_cat start={line}"
            )),
            (Some((line, 0)), _) => Some(format!(
                "not all lines fit: continue with artifact_cat start={line}{to}"
            )),
            (Some((line, offset)), _) => Some(format!(
                "line {line} is long and was truncated at byte {offset}: continue with artifact_cat start={line} offset={offset}{to}"
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
