//! Searches a line that is too long to hold in memory, in overlapping windows.

use std::ops::Range;

use memchr::memchr;

use super::blocks::Blocks;
use crate::error::Error;

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
