//! Reads lines with constant memory.

use std::io::{self, BufRead as _, BufReader, Read as _};

use super::MAX_RECORD;
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
