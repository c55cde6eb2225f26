//! Bytes by range.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

/// Bytes that can be read by range, as often as somebody asks. What is read does not change.
///
/// Implement it for an object store or a server that answers ranges: `len` and `read` are enough, and `read_now` returns
/// `None`.
#[async_trait]
pub trait ByteReader: Send + Sync + fmt::Debug {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a range, clamped to what is there.
    ///
    /// # Errors
    /// They cannot be read.
    async fn read(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// Fills `into` from `at` on the thread that asks, for readers whose bytes are near: memory, a local disk. Gives how
    /// many bytes came, fewer than asked for only at the end. Readers whose bytes are far return `None`:
    /// [`ByteReader::read`] must be awaited then. A reader around another passes this on.
    ///
    /// Long searches run on a thread for blocking work and ask here first: it saves them a hop and a copy for each piece.
    fn read_now(&self, at: u64, into: &mut [u8]) -> Option<io::Result<usize>>;
}

#[async_trait]
impl<R: ByteReader + ?Sized> ByteReader for Arc<R> {
    fn len(&self) -> u64 {
        (**self).len()
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        (**self).read(range).await
    }

    fn read_now(&self, at: u64, into: &mut [u8]) -> Option<io::Result<usize>> {
        (**self).read_now(at, into)
    }
}
