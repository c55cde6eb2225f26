//! Reading lines forward from any line, with the help of the index and to its benefit.

use memchr::{memchr, memchr_iter};

use super::index::{LineIndex, Place, STRIDE};
use super::source::{PIECE, Source};
use crate::error::Error;

/// Reads lines from a place on.
pub(super) struct Forward<'a> {
    source: &'a mut Source,
    index: &'a LineIndex,
    /// Where it is: at the beginning of line number `place.lines`, except after a line that was given only in part.
    place: Place,
    /// How much is read at once.
    piece: usize,
}

/// What was read of a line.
pub(super) struct Taken {
    pub(super) bytes: Vec<u8>,
    /// Whether the line ended within what was asked for.
    pub(super) is_complete: bool,
}

impl<'a> Forward<'a> {
    /// At the beginning, reading so many bytes at once.
    pub(super) fn new(source: &'a mut Source, index: &'a LineIndex, piece: usize) -> Self {
        Forward {
            source,
            index,
            place: Place::default(),
            piece,
        }
    }

    /// The number of the line at hand.
    pub(super) fn number(&self) -> u64 {
        self.place.lines
    }

    pub(super) fn at(&self) -> u64 {
        self.place.at
    }

    /// Whether there is no further line.
    pub(super) fn at_end(&self) -> bool {
        self.place.at >= self.source.len()
    }

    /// Goes to the beginning of a line. `false` if there is none of that number: then it stands at the end, and the index
    /// knows how many lines there are.
    pub(super) fn go_to(&mut self, line: u64) -> Result<bool, Error> {
        if let Some(count) = self.index.line_count().filter(|count| *count <= line) {
            self.place = Place {
                at: self.source.len(),
                lines: count,
            };
            return Ok(false);
        }
        let known = self.index.before(line);
        if self.place.lines > line || self.place.at < known.at || line == 0 {
            self.place = known;
        }
        while self.place.lines < line {
            let bytes = self.source.bytes(self.place.at, PIECE)?;
            // No more than a stride at once, so that the index learns places near enough to each other.
            let bytes = bytes.get(..STRIDE as usize).unwrap_or(bytes);
            if bytes.is_empty() {
                return self.ended();
            }
            self.place = match find_end(bytes, line - self.place.lines) {
                Ok(end) => Place {
                    at: self.place.at + end as u64 + 1,
                    lines: line,
                },
                Err(ends) => Place {
                    at: self.place.at + bytes.len() as u64,
                    lines: self.place.lines + ends,
                },
            };
            if self.place.lines < line {
                self.index.learn(self.place);
            }
        }
        if self.at_end() {
            return self.ended();
        }
        Ok(true)
    }

    /// At the end: a last line without a newline is a line too.
    fn ended(&mut self) -> Result<bool, Error> {
        let len = self.source.len();
        if let Some(last) = len.checked_sub(1) {
            let open = self.source.bytes(last, 1)?.first() != Some(&b'\n');
            self.place.lines += u64::from(open);
        }
        self.index.learn_line_count(self.place.lines);
        Ok(false)
    }

    /// Skips bytes of the line at hand, not beyond its end, and says how many that were.
    pub(super) fn skip_in_line(&mut self, wanted: u64) -> Result<u64, Error> {
        let begin = self.place.at;
        let goal = begin.saturating_add(wanted).min(self.source.len());
        // What is known to lie inside the line need not be looked at.
        let known = self.index.inside(self.place.lines, goal);
        let mut at = known.map_or(begin, |known| known.saturating_sub(1).max(begin));
        let mut before = None;
        while at < goal {
            let bytes = self.source.bytes(at, PIECE)?;
            let left = usize::try_from(goal - at).unwrap_or(usize::MAX);
            // The byte at the goal too: it may be the newline after a `\r`.
            let looked_at = left.saturating_add(1).min(bytes.len());
            let bytes = bytes.get(..looked_at).unwrap_or_default();
            if let Some(end) = memchr(b'\n', bytes) {
                let last = end.checked_sub(1).map_or(before, |i| bytes.get(i).copied());
                at += end as u64;
                at -= u64::from(last == Some(b'\r'));
                break;
            }
            before = bytes.last().copied();
            at += bytes.len().min(left) as u64;
            let place = Place {
                at,
                lines: self.place.lines,
            };
            self.index.learn(place);
        }
        self.place.at = at.min(goal);
        Ok(self.place.at - begin)
    }

    /// The line at hand, up to `most` bytes of it: beyond them it is not read, and the rest is still to come.
    pub(super) fn take(&mut self, most: usize) -> Result<Option<Taken>, Error> {
        if self.at_end() {
            return Ok(None);
        }
        let begin = self.place;
        let mut bytes = Vec::new();
        let mut length = 0;
        let mut last = None;
        let mut ended = false;
        while !ended && length <= most {
            let piece = self.source.bytes(self.place.at, self.piece)?;
            if piece.is_empty() {
                break;
            }
            let end = memchr(b'\n', piece);
            let of_line = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let room = most - bytes.len();
            bytes.extend_from_slice(of_line.get(..room).unwrap_or(of_line));
            length += of_line.len();
            last = of_line.last().copied().or(last);
            ended = end.is_some();
            self.place.at += (of_line.len() + usize::from(ended)) as u64;
        }
        if ended && last == Some(b'\r') {
            length -= 1;
            bytes.truncate(length);
        }
        let is_complete = length <= most;
        if is_complete {
            self.place.lines += u64::from(ended);
            self.index.learn(self.place);
        } else {
            self.place.at = begin.at + most as u64;
        }
        Ok(Some(Taken { bytes, is_complete }))
    }

    /// Goes on to the next line, after one that was taken in part.
    pub(super) fn skip_line(&mut self) -> Result<(), Error> {
        loop {
            let piece = self.source.bytes(self.place.at, PIECE)?;
            if piece.is_empty() {
                return Ok(());
            }
            match memchr(b'\n', piece) {
                Some(end) => {
                    self.place.at += end as u64 + 1;
                    self.place.lines += 1;
                    self.index.learn(self.place);
                    return Ok(());
                }
                None => self.place.at += piece.len() as u64,
            }
        }
    }
}

/// Where the line ends that is the `missing`th from here, counted from 1, or how many lines end here if it does not.
fn find_end(bytes: &[u8], missing: u64) -> Result<usize, u64> {
    // Counting is much faster than walking.
    let ends = memchr_iter(b'\n', bytes).count() as u64;
    let nth = usize::try_from(missing - 1).unwrap_or(usize::MAX);
    let end = (missing <= ends).then(|| memchr_iter(b'\n', bytes).nth(nth));
    end.flatten().ok_or(ends)
}
