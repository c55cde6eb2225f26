//! Reads the last lines from the end.

use memchr::{memchr_iter, memrchr};

use super::excerpt::Excerpt;
use super::forward::{Forward, Source};
use super::show::{self, Line};
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// Bytes of the first read. Up to this size, counting all lines costs no extra read.
const FIRST_READ: usize = 16 * 1024;

impl SpooledArtifact {
    /// Returns the last lines. Reads no more than fits on a page. The lines have numbers if the artifact is small or its
    /// lines have been counted before.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn tail(&self, lines: u64) -> Result<Excerpt, Error> {
        let artifact = self.clone();
        self.read_with(move |read| artifact.last_lines(&mut Source::new(read), lines))
            .await
    }

    fn last_lines(&self, source: &mut Source, asked: u64) -> Result<Excerpt, Error> {
        let room = self.page().remaining();
        let end = End::read(source, asked, room)?;
        let index = &self.shared.lines;
        if end.begin == 0 {
            Forward::new(source, index, FIRST_READ).go_to(u64::MAX)?;
        }
        let count = index.line_count();
        let (mut lines, cut) = end.lines(asked, room);
        for (from_end, line) in lines.iter_mut().enumerate() {
            line.number = count.and_then(|count| count.checked_sub(from_end as u64 + 1));
        }
        lines.reverse();
        Ok(Excerpt {
            note: note(&lines, asked, cut, count),
            lines,
            is_truncated: cut,
            next: None,
            line_count: count,
            page_size: self.limits.page,
        })
    }
}

fn note(lines: &[Line], asked: u64, cut: bool, line_count: Option<u64>) -> Option<String> {
    let shown = lines.len() as u64;
    let Some(first) = lines.first() else {
        return Some(match line_count {
            Some(0) => "the artifact is empty".to_owned(),
            _ => "no lines requested: `n` must be at least 1".to_owned(),
        });
    };
    if first.offset != Some(0) {
        let bytes = first.bytes.len();
        let omitted = match first.offset {
            Some(offset) => format!("the first {offset} bytes of the last line are omitted"),
            None => format!("only the last {bytes} bytes of the last line are shown"),
        };
        return Some(match first.number {
            Some(number) => {
                format!("{omitted}: read it from its start with artifact_cat start={number}")
            }
            None => format!(
                "{omitted}: get the number of lines N with artifact_line_count, then read the last line from its start with artifact_cat start=N-1"
            ),
        });
    }
    match (first.number, cut) {
        (Some(0), _) | (None, false) => None,
        (Some(first), true) => {
            let from = (first + shown).saturating_sub(asked);
            Some(format!(
                "not all lines fit: read the earlier ones with artifact_cat start={from} end={first}"
            ))
        }
        (Some(first), false) => Some(format!(
            "lines {first} to {}",
            first + shown.saturating_sub(1)
        )),
        (None, true) => Some(format!(
            "not all lines fit, these are the last {shown}: get the number of lines N with artifact_line_count, then read the earlier ones with artifact_cat start=N-{asked} end=N-{shown}"
        )),
    }
}

/// The last bytes of an artifact.
struct End {
    bytes: Vec<u8>,
    /// The offset of the first of them.
    begin: u64,
}

impl End {
    /// Reads enough of the end for this many lines, or for a page.
    fn read(source: &Source, lines: u64, room: usize) -> Result<End, Error> {
        let len = source.len();
        // A line costs what it shows plus one byte for its line break, which may have two bytes (`\r\n`).
        let enough = room.saturating_mul(2).saturating_add(8).max(FIRST_READ);
        let mut size = FIRST_READ;
        loop {
            let begin = len.saturating_sub(size as u64);
            let mut bytes = vec![0; usize::try_from(len - begin).unwrap_or(size)];
            source.read().read_at(begin, &mut bytes)?;
            let ends = memchr_iter(b'\n', &bytes).count() as u64;
            if begin == 0 || size >= enough || ends > lines {
                return Ok(End { bytes, begin });
            }
            size = size.saturating_mul(4).min(enough);
        }
    }

    /// Returns the last lines that fit, last line first, and whether some of the requested lines are missing.
    fn lines(&self, asked: u64, room: usize) -> (Vec<Line>, bool) {
        let mut lines: Vec<Line> = Vec::new();
        let mut left = room;
        let mut rest = self.bytes.as_slice();
        let mut any = !rest.is_empty();
        while any && (lines.len() as u64) < asked {
            let closed = rest.last() == Some(&b'\n');
            let mut line = rest
                .get(..rest.len() - usize::from(closed))
                .unwrap_or_default();
            if closed && line.last() == Some(&b'\r') {
                line = line.get(..line.len() - 1).unwrap_or_default();
            }
            let begin = memrchr(b'\n', line).map_or(0, |end| end + 1);
            // Without the newline before it, this may be only the end of a line.
            let is_complete = begin > 0 || self.begin == 0;
            line = line.get(begin..).unwrap_or_default();
            let cost = show::cost(line) + 1;
            if !is_complete || cost > left {
                if lines.is_empty() {
                    let fitting = show::fitting_end(line, room.saturating_sub(1));
                    let begin = line.len() - fitting;
                    let rest = line.get(begin..).unwrap_or_default();
                    lines.push(last_part(rest, is_complete.then_some(begin as u64)));
                }
                return (lines, true);
            }
            left -= cost;
            lines.push(last_part(line, Some(0)));
            rest = rest.get(..begin).unwrap_or_default();
            any = begin > 0;
        }
        (lines, false)
    }
}

/// Returns a line, or its last part.
fn last_part(bytes: &[u8], offset: Option<u64>) -> Line {
    Line {
        number: None,
        offset,
        bytes: bytes.to_vec(),
        continues: false,
    }
}
