//! Searches complete lines, one block at a time, and lines that are too long to hold in memory in overlapping windows.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::Sizes;
use super::collect::Collector;
use super::pattern::Pattern;
use crate::artifact::ArtifactRead;
use crate::error::Error;

/// Searches an artifact block by block.
pub(super) struct Blocks<'a> {
    pub(super) read: &'a ArtifactRead,
    pub(super) pattern: &'a Pattern,
    pub(super) sizes: Sizes,
    pub(super) buffer: Vec<u8>,
    /// Number of bytes in the buffer.
    pub(super) filled: usize,
    /// The offset of the buffer in the artifact.
    pub(super) at: u64,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(read: &'a ArtifactRead, pattern: &'a Pattern, sizes: Sizes) -> Self {
        let len = usize::try_from(read.len()).unwrap_or(usize::MAX);
        Blocks {
            read,
            pattern,
            sizes,
            buffer: vec![0; sizes.block.min(len)],
            filled: 0,
            at: 0,
        }
    }

    /// Searches from the start of a line to the end of the artifact.
    pub(super) fn search(&mut self, from: u64, found: &mut Collector<'_>) -> Result<(), Error> {
        self.at = from;
        let mut compact = Vec::new();
        loop {
            let ended = self.fill()?;
            let bytes = self.bytes();
            let complete = if ended {
                bytes.len()
            } else {
                memrchr(b'\n', bytes).map_or(0, |end| end + 1)
            };
            if complete > 0 {
                let lines = bytes.get(..complete).unwrap_or_default();
                self.search_lines(without_cr(lines, &mut compact), found)?;
                found.block(lines, self.at);
                self.drop_front(complete);
            } else if ended {
                return Ok(());
            } else if self.buffer.len() < self.sizes.line {
                let larger = self.buffer.len().saturating_mul(2).min(self.sizes.line);
                self.buffer.resize(larger, 0);
            } else {
                let long = self.search_long_line()?;
                found.long_line(&long)?;
            }
        }
    }

    fn search_lines(&self, text: &[u8], found: &mut Collector<'_>) -> Result<(), Error> {
        let mut from = 0;
        while let Some(line) = self.pattern.find_line(text, from) {
            from = line.end + 1;
            found.line(text, line)?;
        }
        Ok(())
    }

    /// Returns the bytes in the buffer.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// Fills the buffer. Returns whether the end of the artifact was reached.
    pub(super) fn fill(&mut self) -> Result<bool, Error> {
        let place = self.at + self.filled as u64;
        if let Some(free) = self
            .buffer
            .get_mut(self.filled..)
            .filter(|free| !free.is_empty())
        {
            self.filled += self.read.read_at(place, free)?;
        }
        Ok(self.at + self.filled as u64 >= self.read.len())
    }

    /// Drops the first bytes of the buffer to make room.
    pub(super) fn drop_front(&mut self, bytes: usize) {
        let bytes = bytes.min(self.filled);
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
        self.at += bytes as u64;
    }
}

/// Replaces every `\r\n` with `\n`, so that `$` matches before either line ending. A `\r` anywhere else is an ordinary character.
fn without_cr<'a>(lines: &'a [u8], compact: &'a mut Vec<u8>) -> &'a [u8] {
    compact.clear();
    let mut from = 0;
    for cr in memmem::find_iter(lines, b"\r\n") {
        compact.extend_from_slice(lines.get(from..cr).unwrap_or_default());
        from = cr + 1;
    }
    if from == 0 {
        return lines;
    }
    compact.extend_from_slice(lines.get(from..).unwrap_or_default());
    compact
}

/// Bytes of context on each side of the searched part of a window: enough for one character.
const MARGIN: usize = 4;

/// A line that was searched in windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LongLine {
    /// The offset of the line.
    pub(super) at: u64,
    /// The end of the line, including its newline.
    pub(super) end: u64,
    /// The first match, as offsets within the line.
    pub(super) found: Option<Range<u64>>,
    /// Whether the line ends with a newline.
    pub(super) closed: bool,
}

impl Blocks<'_> {
    /// Searches the line that fills the buffer and continues beyond it. Afterwards the buffer starts with the next line.
    pub(super) fn search_long_line(&mut self) -> Result<LongLine, Error> {
        let begin = self.at;
        let mut found = None;
        let mut from = 0;
        let mut seen = 0;
        loop {
            let ended = self.fill()?;
            let bytes = self.bytes();
            let fresh = bytes.get(seen..).unwrap_or_default();
            let newline = memchr(b'\n', fresh).map(|end| seen + end);
            let mut line = bytes
                .get(..newline.unwrap_or(bytes.len()))
                .unwrap_or_default();
            if newline.is_some() {
                line = line.strip_suffix(b"\r").unwrap_or(line);
            }
            let last = newline.is_some() || ended;
            let to = if last {
                line.len()
            } else {
                line.len().saturating_sub(MARGIN)
            };
            if found.is_none() {
                let place = |at: usize| self.at - begin + at as u64;
                let hit = self.pattern.find_in_part(line, from..to);
                found = hit.map(|hit| place(hit.start)..place(hit.end));
            }
            if last {
                let end = newline.map_or(bytes.len(), |newline| newline + 1);
                self.drop_front(end);
                return Ok(LongLine {
                    at: begin,
                    end: self.at,
                    found,
                    closed: newline.is_some(),
                });
            }
            // After a match, only the end of the line is searched for.
            let overlap = if found.is_none() {
                self.sizes.overlap
            } else {
                0
            };
            let remaining = (overlap + 2 * MARGIN).min(self.filled / 2);
            self.drop_front(self.filled - remaining);
            from = MARGIN.min(remaining);
            seen = remaining;
        }
    }
}
