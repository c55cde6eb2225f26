//! A complete document in memory.
//!
//! The parser checks every open quote, list item and footnote for every line, even for lines that only continue a paragraph. A
//! line of 100,000 `>` followed by 100,000 short lines would cost their product. A container cannot be deeper than the column of
//! its marker. So a marker too far to the right is turned into text by replacing one byte; all other bytes stay the same.

use std::ops::{Range, RangeBounds};

use pulldown_cmark::{CowStr, Event, Options, Parser};

use super::frontmatter::{self, Block};
use crate::artifact::{ArtifactLimits, ArtifactRead, Page, half_open};
use crate::error::Error;

/// A document and its line index. The parser's output is not cached: every query parses once.
pub(super) struct Document {
    text: String,
    /// What is parsed instead of the text if that is nested too deeply. Has the same length.
    flattened: Option<String>,
    lines: Lines,
    frontmatter: Option<Block>,
    /// The offset at which the Markdown starts, after the frontmatter.
    body: usize,
    lossy: bool,
}

impl Document {
    pub(super) fn read(read: &ArtifactRead, limits: ArtifactLimits) -> Result<Self, Error> {
        let (len, limit) = (read.len(), limits.parse);
        if len > limit {
            return Err(Error::artifact_too_large(format!(
                "The document has {len} bytes, and Markdown is parsed only up to {limit}. Read it as text: artifact_grep with \
                 the pattern ^#{{1,6}}\\s finds headings and their lines, artifact_cat with start and end shows lines."
            )));
        }
        Ok(Document::of(read.first(usize::MAX)?))
    }

    /// Replaces invalid UTF-8. A newline is always valid, so line numbers do not change.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let (text, lossy) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        };
        let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let frontmatter = frontmatter::find(&text, mark);
        Document {
            flattened: flattened(&text),
            lines: Lines::of(&text),
            body: frontmatter.as_ref().map_or(mark, |block| block.bytes.end),
            frontmatter,
            text,
            lossy,
        }
    }

    /// Returns the parser events in order, each with its byte range.
    pub(super) fn events(&self) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
        let parsed = self.flattened.as_ref().unwrap_or(&self.text);
        let body = parsed.get(self.body..).unwrap_or("");
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_FOOTNOTES;
        let events = Parser::new_ext(body, options).into_offset_iter();
        events.map(|(event, range)| {
            let range = range.start + self.body..range.end + self.body;
            (self.original(event, &range), range)
        })
    }

    /// Restores the original text of what was escaped for the parser.
    fn original<'d>(&'d self, event: Event<'d>, range: &Range<usize>) -> Event<'d> {
        let original = |text: CowStr<'d>| match self.slice(range) {
            original if original.len() == text.len() => CowStr::Borrowed(original),
            _ => text,
        };
        match event {
            _ if self.flattened.is_none() => event,
            Event::Text(text) => Event::Text(original(text)),
            Event::Html(text) => Event::Html(original(text)),
            event => event,
        }
    }

    pub(super) fn frontmatter(&self) -> Option<&Block> {
        self.frontmatter.as_ref()
    }

    pub(super) fn lines(&self) -> &Lines {
        &self.lines
    }

    pub(super) fn slice(&self, bytes: &Range<usize>) -> &str {
        self.text.get(bytes.clone()).unwrap_or("")
    }

    /// Returns the line that contains a byte.
    pub(super) fn line_of(&self, byte: usize) -> u64 {
        self.lines.at(byte)
    }

    /// Returns the lines of a byte range, without trailing blank lines.
    pub(super) fn lines_of(&self, bytes: &Range<usize>) -> Range<u64> {
        self.exact_lines_of(
            &(bytes.start..bytes.start + self.slice(bytes).as_bytes().trim_ascii_end().len()),
        )
    }

    /// Returns the lines of a byte range. A newline at its end does not add another line.
    pub(super) fn exact_lines_of(&self, bytes: &Range<usize>) -> Range<u64> {
        let start = self.line_of(bytes.start);
        let last = self.line_of(bytes.end.saturating_sub(1).max(bytes.start));
        start..(last + 1).min(self.lines.count()).max(start)
    }

    /// Returns the byte range of lines.
    pub(super) fn bytes_of(&self, lines: &Range<u64>) -> Range<usize> {
        self.lines.start(lines.start)..self.lines.start(lines.end)
    }

    /// Adds notes about the document that the reader of a page must know.
    pub(super) fn annotate(&self, page: &mut Page) {
        if self.lossy {
            page.note("Invalid UTF-8 is shown as \u{fffd}. Line numbers are correct.");
        }
        if self.flattened.is_some() {
            page.note("Quotes and lists beyond column 200 are treated as plain text.");
        }
    }
}

/// The lines of a text, numbered from 0. Each line includes its `\n`. A final newline does not start another line.
pub(super) struct Lines {
    /// The offset of each line, and the offset after a final newline.
    starts: Vec<usize>,
    count: u64,
    /// The length of the text.
    end: usize,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(newlines).collect();
        let open = !text.is_empty() && !text.ends_with('\n');
        Lines {
            count: (starts.len() - usize::from(!open)) as u64,
            starts,
            end: text.len(),
        }
    }

    /// Returns the number of lines.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the line that contains a byte.
    pub(super) fn at(&self, byte: usize) -> u64 {
        let begun = self.starts.partition_point(|start| *start <= byte);
        begun.saturating_sub(1) as u64
    }

    /// Returns the offset of a line. After the last line, returns the end of the text.
    pub(super) fn start(&self, line: u64) -> usize {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        self.starts.get(line).copied().unwrap_or(self.end)
    }

    /// Converts to a half-open range, clamped to the existing lines.
    pub(super) fn clamp(&self, lines: &impl RangeBounds<u64>) -> Range<u64> {
        let (start, end) = half_open(lines);
        let start = start.min(self.count);
        start..end.unwrap_or(u64::MAX).clamp(start, self.count)
    }
}

/// Appends the text of an event to the text of a heading, a link or an image, which has one line.
pub(super) fn push_inline(text: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(words) | Event::Code(words) => text.push_str(words),
        Event::SoftBreak | Event::HardBreak => text.push(' '),
        _ => {}
    }
}

/// The first column at which a marker does not open a container.
const DEEPEST: usize = 200;

/// Escapes the first marker beyond the maximum column on every line. `None` if there is no such line.
fn flattened(text: &str) -> Option<String> {
    let mut flat = String::new();
    let mut taken = 0;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(at) = too_deep(line.as_bytes()) {
            flat.push_str(text.get(taken..start + at).unwrap_or(""));
            flat.push('\\');
            taken = start + at + 1;
        }
        start += line.len();
    }
    if taken == 0 {
        return None;
    }
    flat.push_str(text.get(taken..).unwrap_or(""));
    Some(flat)
}

/// Returns the position of the first marker beyond the maximum column. It is an ASCII character.
fn too_deep(line: &[u8]) -> Option<usize> {
    if line.len() <= DEEPEST / 4 {
        return None;
    }
    let (mut at, mut column) = (0, 0);
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let width = match rest {
            [b' ', ..] => 1,
            [b'\t', ..] => {
                column += 3 - column % 4;
                1
            }
            _ => match marker(rest) {
                Some(_) if column >= DEEPEST => return Some(at),
                Some(width) => width,
                None => return None,
            },
        };
        at += width;
        column += width;
    }
    None
}

/// Returns the width of the marker at the start of the text, if there is one: of a quote, a bullet, a number, a task or a
/// footnote.
fn marker(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'>', ..] => Some(1),
        [b'-' | b'+' | b'*', after @ ..] => blank(after).then_some(1),
        [b'0'..=b'9', ..] => {
            let digits = rest
                .iter()
                .take(10)
                .take_while(|byte| byte.is_ascii_digit());
            let digits = digits.count();
            match rest.get(digits..) {
                Some([b'.' | b')', after @ ..]) if digits < 10 && blank(after) => Some(digits + 1),
                _ => None,
            }
        }
        [b'[', b' ' | b'x' | b'X', b']', after @ ..] => blank(after).then_some(3),
        [b'[', b'^', label @ ..] => {
            let end = label.iter().position(|byte| *byte == b']')?;
            (label.get(end + 1) == Some(&b':')).then_some(end + 4)
        }
        _ => None,
    }
}

fn blank(rest: &[u8]) -> bool {
    matches!(rest, [] | [b' ' | b'\t' | b'\r' | b'\n', ..])
}
