//! Reads bytes by range.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

/// A source of immutable bytes that can be read by range, any number of times.
///
/// Implement it for an object store or a server that supports range requests. [`len`](ByteReader::len) and
/// [`read`](ByteReader::read) are enough; `read_now` can return `None`.
///
/// ```
/// use async_trait::async_trait;
/// use bytes::Bytes;
/// use std::io;
/// use std::ops::Range;
/// use turnwright_artifact::spool::ByteReader;
/// # #[derive(Debug)] struct Bucket;
/// # impl Bucket {
/// #     async fn get(&self, _key: &str, _range: Range<u64>) -> io::Result<Bytes> { Ok(Bytes::new()) }
/// # }
///
/// /// An object in a bucket.
/// #[derive(Debug)]
/// struct Object { bucket: Bucket, key: String, len: u64 }
///
/// #[async_trait]
/// impl ByteReader for Object {
///     fn len(&self) -> u64 {
///         self.len
///     }
///
///     async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
///         self.bucket.get(&self.key, range.start.min(self.len)..range.end.min(self.len)).await
///     }
///
///     fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
///         None
///     }
/// }
/// ```
#[async_trait]
pub trait ByteReader: Send + Sync + fmt::Debug {
    /// Returns the number of bytes.
    fn len(&self) -> u64;

    /// Returns whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a range, clamped to the content.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read.
    async fn read(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// Fills `into` from offset `at` on the current thread, for local bytes such as memory or a local disk. Returns the number of
    /// bytes read, which is smaller than requested only at the end.
    ///
    /// Readers of remote bytes return `None`; the caller then awaits [`ByteReader::read`]. A wrapper should delegate to the
    /// wrapped reader.
    ///
    /// Long searches run on a thread for blocking work and call this method first, which saves a thread switch and a copy per
    /// piece.
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
