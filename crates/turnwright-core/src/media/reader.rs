//! Where the bytes of a media come from.

use std::sync::Arc;
use std::{fmt, io};

use async_trait::async_trait;

use crate::spool::{ByteReader, ByteStream};

/// Where the bytes of a media come from. Nothing is opened before it is asked, and it can be asked again.
///
/// Everything that reads byte ranges (memory, files, object stores) is one already. For what can only be streamed, such
/// as an HTTP response, implement it: feed a [`ByteStream::channel`].
#[async_trait]
pub trait MediaReader: Send + Sync + fmt::Debug {
    /// How many bytes there are, if that is known without asking far away.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// All bytes from the beginning.
    ///
    /// # Errors
    /// They cannot be read.
    async fn open(&self) -> io::Result<ByteStream>;

    /// The same bytes by range, if they can be read that way. When a record with the media goes to a persistent store, bytes that
    /// can are copied into the spool. Bytes that cannot stay where they are: after a restart
    /// [`ByteResolver::media`](crate::record::ByteResolver::media) finds them.
    fn byte_reader(&self) -> Option<Arc<dyn ByteReader>> {
        None
    }
}

#[async_trait]
impl<R: ByteReader + Clone + 'static> MediaReader for R {
    fn len_hint(&self) -> Option<u64> {
        Some(self.len())
    }

    async fn open(&self) -> io::Result<ByteStream> {
        Ok(ByteStream::of_reader(Arc::new(self.clone())))
    }

    fn byte_reader(&self) -> Option<Arc<dyn ByteReader>> {
        Some(Arc::new(self.clone()))
    }
}
