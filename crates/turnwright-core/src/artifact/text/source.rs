//! The artifact's bytes, piece by piece, with the last piece at hand.

use crate::artifact::ArtifactRead;
use crate::error::Error;

/// How much is read at once by those who read a lot.
pub(super) const PIECE: usize = 256 * 1024;

/// Bytes from anywhere; what was read last is not read again.
pub(super) struct Source {
    read: ArtifactRead,
    piece: Vec<u8>,
    /// Where the piece begins.
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

    /// Bytes from a place on: none only at the end. At most `size` are read where none are at hand.
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
        // Nothing must seem to be at hand if the reader fails half way.
        let mut piece = std::mem::take(&mut self.piece);
        piece.resize(size.min(left), 0);
        let came = self.read.read_at(at, &mut piece)?;
        piece.truncate(came);
        self.piece = piece;
        self.at = at;
        Ok(())
    }
}
