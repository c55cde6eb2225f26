//! Lines, from the front and from the back, in memory that does not grow with the artifact.

use super::MAX_RECORD;
use super::format::without_bom;
use crate::artifact::ArtifactRead;
use crate::error::Error;

/// How much is read at once.
const BLOCK: usize = 256 * 1024;

/// A line without its end, or one that is too long to be held.
pub(super) enum Line<'l> {
    Text(&'l [u8]),
    TooLong,
}

/// The lines from the front.
pub(super) struct Lines<'r> {
    read: &'r ArtifactRead,
    block: Vec<u8>,
    /// Where the next line begins in the block, and the next block in the artifact.
    from: usize,
    next_block: u64,
    /// The part of a line that earlier blocks had.
    carried: Vec<u8>,
}

impl<'r> Lines<'r> {
    pub(super) fn new(read: &'r ArtifactRead) -> Self {
        Lines {
            read,
            block: Vec::new(),
            from: 0,
            next_block: 0,
            carried: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Error> {
        self.carried.clear();
        let (mut begun, mut too_long) = (false, false);
        loop {
            let rest = self.block.get(self.from..).unwrap_or(&[]);
            let end = rest.iter().position(|byte| *byte == b'\n');
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or(&[]);
            if let Some(len) = end
                && !begun
            {
                let start = self.from;
                self.from += len + 1;
                let line = self.block.get(start..start + len).unwrap_or(&[]);
                return Ok(Some(Line::Text(line)));
            }
            begun |= !part.is_empty();
            if !too_long {
                too_long = self.carried.len() + part.len() > MAX_RECORD;
                self.carried
                    .extend_from_slice(if too_long { &[] } else { part });
            }
            let ended = match end {
                Some(len) => {
                    self.from += len + 1;
                    true
                }
                None => !self.fill()?,
            };
            if ended {
                return Ok(match (too_long, begun || end.is_some()) {
                    (true, _) => Some(Line::TooLong),
                    (false, true) => Some(Line::Text(&self.carried)),
                    (false, false) => None,
                });
            }
        }
    }

    /// How much was read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.next_block
    }

    fn fill(&mut self) -> Result<bool, Error> {
        self.from = 0;
        self.block.resize(BLOCK, 0);
        let came = self.read.read_at(self.next_block, &mut self.block)?;
        self.block.truncate(came);
        self.next_block += came as u64;
        Ok(came > 0)
    }
}

/// The lines from the back.
pub(super) struct LinesBack<'r> {
    read: &'r ArtifactRead,
    block: Vec<u8>,
    /// How much of the block is still to come, and where it begins in the artifact.
    upto: usize,
    block_at: u64,
    /// The part of a line that later blocks had.
    carried: Vec<u8>,
    done: bool,
}

impl<'r> LinesBack<'r> {
    pub(super) fn new(read: &'r ArtifactRead) -> Self {
        LinesBack {
            read,
            block: Vec::new(),
            upto: 0,
            block_at: read.len(),
            carried: Vec::new(),
            done: false,
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Error> {
        self.carried.clear();
        let mut too_long = false;
        while !self.done {
            let rest = self.block.get(..self.upto).unwrap_or(&[]);
            let newline = rest.iter().rposition(|byte| *byte == b'\n');
            let part = rest.get(newline.map_or(0, |at| at + 1)..).unwrap_or(&[]);
            if !too_long {
                too_long = self.carried.len() + part.len() > MAX_RECORD;
                if too_long {
                    self.carried.clear();
                } else {
                    self.carried.splice(0..0, part.iter().copied());
                }
            }
            match newline {
                Some(at) => self.upto = at,
                None if self.fill()? => continue,
                None => self.done = true,
            }
            return Ok(Some(match (too_long, self.done) {
                (true, _) => Line::TooLong,
                (false, false) => Line::Text(&self.carried),
                (false, true) => Line::Text(without_bom(&self.carried)),
            }));
        }
        Ok(None)
    }

    fn fill(&mut self) -> Result<bool, Error> {
        let len = BLOCK.min(usize::try_from(self.block_at).unwrap_or(BLOCK));
        self.block_at -= len as u64;
        self.block.resize(len, 0);
        self.upto = self.read.read_at(self.block_at, &mut self.block)?;
        Ok(self.upto > 0)
    }
}
