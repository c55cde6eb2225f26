//! A line, or the part of it that was asked for.

use std::fmt;

use super::show;

/// A line without its end, or a part of one, byte for byte as it stands in the artifact.
#[derive(Clone, PartialEq, Eq)]
pub struct Line {
    number: Option<u64>,
    offset: Option<u64>,
    bytes: Vec<u8>,
    goes_on: bool,
}

impl Line {
    /// A line as a whole.
    pub(super) fn whole(number: Option<u64>, bytes: Vec<u8>) -> Self {
        Line::part(number, Some(0), bytes, false)
    }

    pub(super) fn part(
        number: Option<u64>,
        offset: Option<u64>,
        bytes: Vec<u8>,
        goes_on: bool,
    ) -> Self {
        Line {
            number,
            offset,
            bytes,
            goes_on,
        }
    }

    /// Without what stands after so many of its bytes.
    pub(super) fn cut_after(mut self, bytes: usize) -> Self {
        self.bytes.truncate(bytes);
        self.goes_on = true;
        self
    }

    pub(super) fn set_number(&mut self, number: Option<u64>) {
        self.number = number;
    }

    /// Its number, counted from 0. The last lines of an artifact whose lines nobody has counted have none.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// Its bytes, without the line's end.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes of the line stand before these. `None` if some do and nobody knows how many: the end of a long last
    /// line, whose beginning was not looked for.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Whether the line goes on after these bytes.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Whether this is all of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.offset == Some(0) && !self.goes_on
    }

    /// How many bytes it takes to show it, its newline included.
    pub(super) fn cost(&self) -> usize {
        show::cost(&self.bytes) + 1
    }
}

impl fmt::Debug for Line {
    /// What it says may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("number", &self.number)
            .field("offset", &self.offset)
            .field("bytes", &self.bytes.len())
            .field("goes_on", &self.goes_on)
            .finish()
    }
}
