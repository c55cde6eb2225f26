//! Reads lines forwards and backwards with constant memory.

use std::io::{self, BufRead as _, BufReader, Read as _};

use super::MAX_RECORD;
use super::format::without_bom;
use crate::artifact::ArtifactRead;
use crate::error::Error;

/// Bytes per read.
const BLOCK: usize = 256 * 1024;

/// A line without its line break, or a line that is too long to hold in memory.
pub(super) enum Line<'l> {
    Text(&'l [u8]),
    TooLong,
}

/// Iterates over the lines from the start.
pub(super) struct Lines {
    reader: BufReader<ArtifactRead>,
    line: Vec<u8>,
    pub(super) bytes_read: u64,
}

impl Lines {
    pub(super) fn new(read: &ArtifactRead) -> Self {
        Lines {
            reader: BufReader::with_capacity(BLOCK, read.clone()),
            line: Vec::new(),
            bytes_read: 0,
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Error> {
        self.read_line().map_err(Error::from_artifact_read)
    }

    fn read_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let mut within_bound = (&mut self.reader).take(MAX_RECORD as u64 + 1);
        let length = within_bound.read_until(b'\n', &mut self.line)?;
        self.bytes_read += length as u64;
        if self.line.pop_if(|last| *last == b'\n').is_none() && length > MAX_RECORD {
            self.bytes_read += self.reader.skip_until(b'\n')? as u64;
            return Ok(Some(Line::TooLong));
        }
        Ok((length > 0).then_some(Line::Text(&self.line)))
    }
}

/// Iterates over the lines from the end.
pub(super) struct LinesBack<'r> {
    read: &'r ArtifactRead,
    block: Vec<u8>,
    /// How much of the block is left, and its offset in the artifact.
    upto: usize,
    block_at: u64,
    /// The part of a line that was in the blocks read before.
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
