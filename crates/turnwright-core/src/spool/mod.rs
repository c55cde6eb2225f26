//! Storage for the bytes of results and media.
//!
//! [`MemorySpool`] stores them in memory, up to its capacity. [`DiskSpool`] stores them in a directory. Both are read in ranges
//! through a [`ByteReader`].
//!
//! ```
//! use turnwright_core::spool::Body;
//! use turnwright_core::spool::{ByteReader, MemorySpool, Spool};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let spool = MemorySpool::default();
//! let reader = spool.put("call-1", Body::Text("one\ntwo\n".to_owned())).await?;
//! assert_eq!(&reader.read(4..7).await?[..], b"two");
//! assert!(spool.open("call-2").await?.is_none());
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```

mod body;
mod bound;
mod capacity;
mod digest;
mod disk;
mod file;
mod memory;
mod reader;
mod stream;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use async_trait::async_trait;

pub use body::Body;
pub use disk::DiskSpool;
pub use file::FileReader;
pub use memory::{MemoryReader, MemorySpool};
pub use reader::ByteReader;
pub use stream::{ByteSender, ByteStream, StreamClosed};

pub(crate) use digest::{Spooled, digest_of};

/// Stores the content of results. Writes are atomic: if a stream fails, nothing is stored.
///
/// A spool of one tenant in a shared spool:
///
/// ```
/// use async_trait::async_trait;
/// use std::io;
/// use std::sync::Arc;
/// use turnwright_core::spool::{Body, ByteReader, MemorySpool, Spool};
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

#[async_trait]
impl<S: Spool + ?Sized> Spool for Arc<S> {
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        (**self).put(id, content).await
    }

    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
        (**self).open(id).await
    }

    async fn delete(&self, id: &str) -> io::Result<bool> {
        (**self).delete(id).await
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        (**self).list().await
    }

    fn is_persistent(&self) -> bool {
        (**self).is_persistent()
    }

    fn can_reopen(&self) -> bool {
        (**self).can_reopen()
    }
}
