//! Storage for the bytes of results and media.
//!
//! A persistent spool hashes what it writes; the record has the digest, and the first read after loading verifies it.
//! The spool on disk writes to a temporary name, flushes, renames and flushes the directory, so files appear complete
//! or not at all. Ids are encoded so that they cannot leave the directory or collide on a case-insensitive file system.
//!
//! [`MemorySpool`] stores them in memory, up to its capacity. [`DiskSpool`] stores them in a directory. Both are read in ranges
//! through a [`ByteReader`].
//!
//! ```
//! use turnwright_artifact::spool::Body;
//! use turnwright_artifact::spool::{ByteReader, MemorySpool, Spool};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let spool = MemorySpool::default();
//! let reader = spool.put("call-1", Body::Text("one\ntwo\n".to_owned())).await?;
//! assert_eq!(&reader.read(4..7).await?[..], b"two");
//! assert!(spool.open("call-2").await?.is_none());
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```

mod body;
mod digest;
mod disk;
mod file;
mod memory;
mod stream;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::{fmt, io};

use async_trait::async_trait;
use bytes::Bytes;

pub use body::Body;
pub use disk::DiskSpool;
pub use file::FileReader;
pub use memory::{MemoryReader, MemorySpool};
pub use stream::{ByteSender, ByteStream, StreamClosed};

#[doc(hidden)]
pub use digest::{Spooled, digest_of};

/// Stores the content of results. Writes are atomic: if a stream fails, nothing is stored.
///
/// A spool of one tenant in a shared spool:
///
/// ```
/// use async_trait::async_trait;
/// use std::io;
/// use std::sync::Arc;
/// use turnwright_artifact::spool::{Body, ByteReader, MemorySpool, Spool};
///
/// struct Tenant { name: &'static str, shared: Arc<dyn Spool> }
///
/// impl Tenant {
///     fn id(&self, id: &str) -> String {
///         format!("{}/{id}", self.name)
///     }
/// }
///
/// #[async_trait]
/// impl Spool for Tenant {
///     async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
///         self.shared.put(&self.id(id), content).await
///     }
///     async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
///         self.shared.open(&self.id(id)).await
///     }
///     async fn delete(&self, id: &str) -> io::Result<bool> {
///         self.shared.delete(&self.id(id)).await
///     }
///     async fn list(&self) -> io::Result<Vec<String>> {
///         let (all, own) = (self.shared.list().await?, self.id(""));
///         Ok(all.iter().filter_map(|id| id.strip_prefix(&own)).map(str::to_owned).collect())
///     }
///     fn is_persistent(&self) -> bool {
///         self.shared.is_persistent()
///     }
///     fn can_reopen(&self) -> bool {
///         self.shared.can_reopen()
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let spool = Tenant { name: "acme", shared: Arc::new(MemorySpool::default()) };
/// spool.put("call-1", "one\n".into()).await?;
/// assert_eq!(spool.list().await?, ["call-1"]);
/// # Ok::<(), io::Error>(()) }).unwrap();
/// ```
#[async_trait]
pub trait Spool: Send + Sync {
    /// Stores `content` under an id and returns a reader of it. Replaces existing content with this id.
    ///
    /// # Errors
    /// Returns an error if the content cannot be stored or the stream fails. Existing content is then unchanged.
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>>;

    /// Returns a reader of the content with this id, or `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the spool cannot be read.
    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>>;

    /// Deletes the content with this id. Returns whether there was any.
    ///
    /// # Errors
    /// Returns an error if the content cannot be deleted.
    async fn delete(&self, id: &str) -> io::Result<bool>;

    /// Returns the ids of all content, in no particular order.
    ///
    /// # Errors
    /// Returns an error if the ids cannot be listed.
    async fn list(&self) -> io::Result<Vec<String>>;

    /// Returns whether stored bytes survive the end of the process. A runner with a persistent store needs a persistent spool. A
    /// wrapper should delegate to the wrapped spool.
    fn is_persistent(&self) -> bool;

    /// Returns whether content can be opened by its id later. If not, the bytes are written into their records when those are
    /// stored. A wrapper should delegate to the wrapped spool.
    fn can_reopen(&self) -> bool;
}

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
