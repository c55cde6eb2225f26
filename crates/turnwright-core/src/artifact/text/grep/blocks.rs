//! Whole lines, as many at once as a block holds.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::Sizes;
use super::long_line::LongLine;
use super::pattern::Pattern;
use crate::artifact::ArtifactRead;
use crate::error::Error;

/// What is done with what is found.
pub(super) trait Found {
    /// A matching line in a text of whole lines, in which `\r\n` stands as `\n`.
    fn line(&mut self, text: &[u8], line: Range<usize>) -> Result<(), Error>;

    /// All lines of a block were searched: its bytes as they stand in the artifact, and where they begin.
    fn block(&mut self, bytes: &[u8], at: u64);

    /// A line was searched in windows.
    fn long_line(&mut self, long: &LongLine) -> Result<(), Error>;
}

/// Searches an artifact block by block.
pub(super) struct Blocks<'a> {
    pub(super) read: &'a ArtifactRead,
    pub(super) pattern: &'a Pattern,
    pub(super) sizes: Sizes,
    pub(super) buffer: Vec<u8>,
    /// How much of the buffer is filled.
    pub(super) filled: usize,
    /// Where its first byte stands in the artifact.
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

    /// Searches from the beginning of a line to the end.
    pub(super) fn search(&mut self, from: u64, found: &mut impl Found) -> Result<(), Error> {
        self.at = from;
        let mut compact = Vec::new();
        loop {
            let ended = self.fill()?;
            let bytes = self.bytes();
            let whole = if ended {
                bytes.len()
            } else {
                memrchr(b'\n', bytes).map_or(0, |end| end + 1)
            };
            if whole > 0 {
                let lines = bytes.get(..whole).unwrap_or_default();
                self.search_lines(without_cr(lines, &mut compact), found)?;
                found.block(lines, self.at);
                self.drop_front(whole);
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

    fn search_lines(&self, text: &[u8], found: &mut impl Found) -> Result<(), Error> {
        let mut from = 0;
        while let Some(line) = self.pattern.find_line(text, from) {
            from = line.end + 1;
            found.line(text, line)?;
        }
        Ok(())
    }

    /// What is in the buffer.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// Fills what is free of the buffer, and says whether the artifact ends within it.
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

    /// Makes room, by dropping the first bytes.
    pub(super) fn drop_front(&mut self, bytes: usize) {
        let bytes = bytes.min(self.filled);
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
        self.at += bytes as u64;
    }
}

/// The lines with `\n` for every `\r\n`, which is what a pattern is about: `$` stands before the end of the line, whichever it
/// is, and a `\r` anywhere else is a character like others.
fn without_cr<'a>(lines: &'a [u8], compact: &'a mut Vec<u8>) -> &'a [u8] {
    let Some(first) = memmem::find(lines, b"\r\n") else {
        return lines;
    };
    compact.clear();
    let (before, mut rest) = lines.split_at_checked(first).unwrap_or((lines, &[]));
    compact.extend_from_slice(before);
    while let Some(end) = memchr(b'\n', rest) {
        let (line, after) = rest.split_at_checked(end + 1).unwrap_or((rest, &[]));
        compact.extend_from_slice(line);
        if line.ends_with(b"\r\n") {
            let end = compact.len() - 2;
            compact.truncate(end);
            compact.push(b'\n');
        }
        rest = after;
    }
    compact.extend_from_slice(rest);
    compact
}
