//! Reads the bytes of an artifact in pieces and caches the last one.

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
