//! Readers of media.

use std::sync::Arc;
use std::{fmt, io};

use async_trait::async_trait;

use crate::spool::{ByteReader, ByteStream};

/// A source of the bytes of a media item. Nothing is opened until [`open`](MediaReader::open) is called, and it can be called
/// repeatedly.
///
/// Every [`ByteReader`] (memory, files, object stores) is a `MediaReader`. Implement this trait for sources that can only be
/// streamed, such as an HTTP response, with a [`ByteStream::channel`].
///
/// ```
/// use async_trait::async_trait;
/// use std::io;
/// use turnwright_core::media::MediaReader;
/// use turnwright_core::spool::ByteStream;
///
/// /// Streams the pictures of a camera.
/// #[derive(Debug)]
/// struct Camera;
///
/// #[async_trait]
/// impl MediaReader for Camera {
///     async fn open(&self) -> io::Result<ByteStream> {
///         let (sender, stream) = ByteStream::channel(4);
///         tokio::spawn(async move {
///             // An error means that the stream was dropped.
///             let _ = sender.send("…").await;
///         });
///         Ok(stream)
///     }
/// }
/// ```
#[async_trait]
pub trait MediaReader: Send + Sync + fmt::Debug {
    /// Returns the number of bytes, if known without a remote request.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// Opens a stream of all bytes, from the beginning.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read.
    async fn open(&self) -> io::Result<ByteStream>;

    /// Returns a reader of byte ranges, if the source supports them. When a record with the media is written to a persistent
    /// store, such bytes are copied into the spool, unless [`MediaBuilder::in_place`](super::MediaBuilder::in_place) is called.
    /// Other bytes stay where they are, and [`ByteResolver::media`](crate::record::ByteResolver::media) finds them after a restart.
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
