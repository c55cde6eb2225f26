//! The last lines, read from the end.

use memchr::{memchr_iter, memrchr};

use super::excerpt::Excerpt;
use super::forward::Forward;
use super::line::Line;
use super::show;
use super::source::Source;
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// What is read of the end at first, and the size up to which counting all lines costs nothing worth saving.
const FIRST_LOOK: usize = 16 * 1024;

impl SpooledArtifact {
    /// The last lines. Reads no more of the end than an answer has room for; the lines have numbers if the artifact is
    /// small or its lines were counted before.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
    pub async fn tail(&self, lines: u64) -> Result<Excerpt, Error> {
        let artifact = self.clone();
        self.read_with(move |read| artifact.last_lines(&mut Source::new(read), lines))
            .await
    }

    fn last_lines(&self, source: &mut Source, asked: u64) -> Result<Excerpt, Error> {
        let room = super::page(self.limits.answer).room();
        let end = End::read(source, asked, room)?;
        let index = &self.shared.lines;
        if end.begin == 0 {
            Forward::new(source, index, FIRST_LOOK).go_to(u64::MAX)?;
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
            is_cut: cut,
            next: None,
            line_count: count,
            answer: self.limits.answer,
        })
    }
}

fn note(lines: &[Line], asked: u64, cut: bool, line_count: Option<u64>) -> Option<String> {
    let shown = lines.len() as u64;
    let Some(first) = lines.first() else {
        return Some(match line_count {
            Some(0) => "the artifact is empty".to_owned(),
            _ => "no line was asked for: n must be at least 1".to_owned(),
        });
    };
    if first.offset != Some(0) {
        let bytes = first.bytes.len();
        let left_out = match first.offset {
            Some(offset) => format!("the first {offset} bytes of the last line are left out"),
            None => format!("only the last {bytes} bytes of the last line are shown"),
        };
        return Some(match first.number {
            Some(number) => {
                format!("{left_out}: artifact_cat start={number} reads it from its beginning")
            }
            None => format!(
                "{left_out}: artifact_line_count says the number N of lines, artifact_cat with start=N-1 reads the last one from its beginning"
            ),
        });
    }
    match (first.number, cut) {
        (Some(0), _) | (None, false) => None,
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
    }
}

/// The last bytes of an artifact.
struct End {
    bytes: Vec<u8>,
    /// Where they begin.
    begin: u64,
}

impl End {
    /// Enough of the end for so many lines, or for a page.
    fn read(source: &Source, lines: u64, room: usize) -> Result<End, Error> {
        let len = source.len();
        // Lines cost what they show and one byte for their end, which has two where it is `\r\n`.
        let enough = room.saturating_mul(2).saturating_add(8).max(FIRST_LOOK);
        let mut size = FIRST_LOOK;
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

    /// The last lines that fit, the last one first, and whether some that were asked for are missing.
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
            // Without the newline before it, this may be the end of a line only.
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

/// A line, or its last part.
fn last_part(bytes: &[u8], offset: Option<u64>) -> Line {
    Line {
        number: None,
        offset,
        bytes: bytes.to_vec(),
        goes_on: false,
    }
}
