//! The last lines, read from the end.

use memchr::{memchr_iter, memrchr};

use super::excerpt::{Excerpt, Story};
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
            let number = count.and_then(|count| count.checked_sub(from_end as u64 + 1));
            line.set_number(number);
        }
        lines.reverse();
        let story = Story::Backward { asked, cut };
        Ok(Excerpt::new(lines, story, count, self.limits.answer))
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
            let whole = begin > 0 || self.begin == 0;
            line = line.get(begin..).unwrap_or_default();
            let cost = show::cost(line) + 1;
            if !whole || cost > left {
                if lines.is_empty() {
                    lines.push(end_of_line(line, whole, room.saturating_sub(1)));
                }
                return (lines, true);
            }
            left -= cost;
            lines.push(Line::whole(None, line.to_vec()));
            rest = rest.get(..begin).unwrap_or_default();
            any = begin > 0;
        }
        (lines, false)
    }
}

/// As much of the end of a line as fits.
fn end_of_line(line: &[u8], whole: bool, room: usize) -> Line {
    let begin = line.len() - show::fitting_end(line, room);
    let bytes = line.get(begin..).unwrap_or_default();
    Line::part(None, whole.then_some(begin as u64), bytes.to_vec(), false)
}
