//! Reads the bytes of an artifact in pieces, and its lines forward from any line, using and extending the line index.

use memchr::{memchr, memchr_iter};

use super::index::{LineIndex, Place, STRIDE};
use crate::artifact::ArtifactRead;
use crate::error::Error;

/// Bytes per read for sequential reads.
pub(super) const PIECE: usize = 256 * 1024;

/// Random access to the bytes. Caches the piece that was read last.
pub(super) struct Source {
    read: ArtifactRead,
    piece: Vec<u8>,
    /// The offset of the piece.
    at: u64,
}

impl Source {
    pub(super) fn new(read: ArtifactRead) -> Self {
        Source {
            read,
            piece: Vec::new(),
            at: 0,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.read.len()
    }

    pub(super) fn read(&self) -> &ArtifactRead {
        &self.read
    }

    /// Returns bytes from an offset, empty only at the end. Reads at most `size` bytes if the offset is not in the cached piece.
    pub(super) fn bytes(&mut self, at: u64, size: usize) -> Result<&[u8], Error> {
        let held = at.checked_sub(self.at).map(usize::try_from);
        let begin = match held {
            Some(Ok(begin)) if begin < self.piece.len() => begin,
            _ => {
                self.load(at, size)?;
                0
            }
        };
        Ok(self.piece.get(begin..).unwrap_or_default())
    }

    fn load(&mut self, at: u64, size: usize) -> Result<(), Error> {
        let left = usize::try_from(self.len().saturating_sub(at)).unwrap_or(usize::MAX);
        // If the reader fails, the cache must be empty.
        let mut piece = std::mem::take(&mut self.piece);
        piece.resize(size.min(left), 0);
        let came = self.read.read_at(at, &mut piece)?;
        piece.truncate(came);
        self.piece = piece;
        self.at = at;
        Ok(())
    }
}

/// Reads lines forward from a position.
pub(super) struct Forward<'a> {
    source: &'a mut Source,
    index: &'a LineIndex,
    /// The position: at the start of line `place.lines`, except after a line of which only a part was taken.
    place: Place,
    /// Bytes per read.
    piece: usize,
}

/// The part of a line that was read.
pub(super) struct Taken {
    pub(super) bytes: Vec<u8>,
    /// Whether the line ended within the requested length.
    pub(super) is_complete: bool,
}

impl<'a> Forward<'a> {
    /// Starts at the beginning of the artifact and reads `piece` bytes at a time.
    pub(super) fn new(source: &'a mut Source, index: &'a LineIndex, piece: usize) -> Self {
        Forward {
            source,
            index,
            place: Place::default(),
            piece,
        }
    }

    /// Returns the number of the current line.
    pub(super) fn number(&self) -> u64 {
        self.place.lines
    }

    pub(super) fn at(&self) -> u64 {
        self.place.at
    }

    /// Returns whether there is no further line.
    pub(super) fn at_end(&self) -> bool {
        self.place.at >= self.source.len()
    }

    /// Moves to the start of a line. Returns `false` if there is no such line; then the position is the end, and the index has
    /// the number of lines.
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
            // At most one stride at a time, so that the places in the index are close enough to each other.
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

    /// Handles the end: a last line without a newline is a line too.
    fn ended(&mut self) -> Result<bool, Error> {
        let len = self.source.len();
        if let Some(last) = len.checked_sub(1) {
            let open = self.source.bytes(last, 1)?.first() != Some(&b'\n');
            self.place.lines += u64::from(open);
        }
        self.index.learn_line_count(self.place.lines);
        Ok(false)
    }

    /// Skips bytes of the current line, but not beyond its end. Returns how many were skipped.
    pub(super) fn skip_in_line(&mut self, wanted: u64) -> Result<u64, Error> {
        let begin = self.place.at;
        let goal = begin.saturating_add(wanted).min(self.source.len());
        // Bytes that the index knows to be inside the line need not be read.
        let known = self.index.inside(self.place.lines, goal);
        let mut at = known.map_or(begin, |known| known.saturating_sub(1).max(begin));
        let mut before = None;
        while at < goal {
            let bytes = self.source.bytes(at, PIECE)?;
            let left = usize::try_from(goal - at).unwrap_or(usize::MAX);
            // Include the byte at the goal: it may be the newline after a `\r`.
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

    /// Returns the current line, up to `most` bytes of it. The rest is not read and remains to be taken.
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

    /// Moves to the next line after a line of which only a part was taken.
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

/// Returns the end of the `missing`th line from here, counted from 1. If there are not so many, returns their number as the
/// error.
fn find_end(bytes: &[u8], missing: u64) -> Result<usize, u64> {
    // Counting is much faster than iterating.
    let ends = memchr_iter(b'\n', bytes).count() as u64;
    let nth = usize::try_from(missing - 1).unwrap_or(usize::MAX);
    let end = (missing <= ends).then(|| memchr_iter(b'\n', bytes).nth(nth));
    end.flatten().ok_or(ends)
}
