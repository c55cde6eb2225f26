//! Searches complete lines, one block at a time.

use memchr::{memmem, memrchr};

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
