//! Where results are kept until they are read, and how they are read: by ranges of bytes.
//!
//! [`MemorySpool`] keeps them in memory, up to its capacity, and [`DiskSpool`] in a folder.
//!
//! ```
//! use turnwright_core::spool::Body;
//! use turnwright_core::spool::{ByteReader, MemorySpool, Spool};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
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

/// Keeps the content of results. Nothing half: a stream that fails leaves nothing behind.
#[async_trait]
pub trait Spool: Send + Sync {
    /// Keeps `content` under an id and gives a reader of it. What was kept under that id before is replaced, as a whole.
    ///
    /// # Errors
    /// It could not be kept, or the stream failed: then what was there before is still there.
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>>;

    /// A reader of what is kept under an id, if anything is.
    ///
    /// # Errors
    /// It cannot be found out.
    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>>;

    /// Forgets what is kept under an id, and says whether there was something.
    ///
    /// # Errors
    /// It could not be forgotten.
    async fn delete(&self, id: &str) -> io::Result<bool>;

    /// The ids under which something is kept, in no order.
    ///
    /// # Errors
    /// They cannot be listed.
    async fn list(&self) -> io::Result<Vec<String>>;

    /// Whether stored bytes survive the end of the process. A runner whose store is persistent needs a spool that is, too. A spool
    /// that wraps another one returns what that one returns.
    fn is_persistent(&self) -> bool;

    /// Whether what was put can be opened by its id later on. The results of a spool that says no go into their records
    /// when those are stored. A spool around another passes this on.
    fn reopens(&self) -> bool;
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

    fn reopens(&self) -> bool {
        (**self).reopens()
    }
}
