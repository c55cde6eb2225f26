//! Streams of bytes.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _, future};
use tokio::sync::mpsc;

use super::ByteReader;
use super::body::Bound;
use super::digest::Hashing;

/// Bytes per read from a reader.
const PIECE: u64 = 64 * 1024;

/// A stream of bytes.
///
/// ```
/// use turnwright_artifact::spool::ByteStream;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (sender, mut stream) = ByteStream::channel(8);
/// tokio::spawn(async move {
///     for line in ["one\n", "two\n"] {
///         // An error means that the stream was dropped.
///         if sender.send(line).await.is_err() { break }
///     }
/// });
/// let mut all = Vec::new();
/// while let Some(chunk) = stream.next().await {
///     all.extend_from_slice(&chunk?);
/// }
/// assert_eq!(all, b"one\ntwo\n");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct ByteStream(BoxStream<'static, io::Result<Bytes>>);

/// The sending half of a [`ByteStream`].
///
/// ```
/// use turnwright_artifact::spool::{ByteStream, StreamClosed};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (sender, mut stream) = ByteStream::channel(1);
/// sender.send("one\n").await.unwrap();
/// assert_eq!(stream.next().await.unwrap()?, "one\n");
///
/// drop(stream);
/// assert_eq!(sender.send("two\n").await, Err(StreamClosed));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct ByteSender {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    torn: Arc<AtomicBool>,
}

impl Drop for ByteSender {
    /// Marks the stream as incomplete if the producer panics.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.torn.store(true, Ordering::Release);
        }
    }
}

/// The error of [`ByteSender::send`]: the stream was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamClosed;

impl ByteStream {
    /// Creates a stream and its sender. The channel holds at most `pieces` pieces.
    #[must_use]
    pub fn channel(pieces: usize) -> (ByteSender, ByteStream) {
        let (pieces, mut receiver) = mpsc::channel(pieces.max(1));
        let torn = Arc::new(AtomicBool::new(false));
        let sender = ByteSender {
            pieces,
            torn: Arc::clone(&torn),
        };
        let end = stream::once(async move { torn.load(Ordering::Acquire) });
        let end = end.filter_map(async |torn| {
            torn.then(|| Err(io::Error::other("the producer of the stream panicked")))
        });
        let pieces = stream::poll_fn(move |cx| receiver.poll_recv(cx));
        (sender, ByteStream(pieces.chain(end).boxed()))
    }

    /// Creates a stream of all bytes of a reader. Bytes are read on demand.
    #[must_use]
    #[doc(hidden)]
    pub fn of_reader(reader: Arc<dyn ByteReader>) -> Self {
        let end = reader.len();
        let pieces = stream::try_unfold((reader, 0, end), async |(reader, at, end)| {
            if at >= end {
                return Ok(None);
            }
            let upto = end.min(at + PIECE);
            let piece = reader.read(at..upto).await?;
            let next = at + piece.len() as u64;
            if piece.is_empty() {
                // An empty read before the end must not be mistaken for the end.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if next > upto {
                let message = "a reader returned more bytes than it was asked for";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            Ok(Some((piece, (reader, next, end))))
        });
        ByteStream(pieces.boxed())
    }

    /// Ends the stream after `most` bytes. Its sender then finds it closed.
    pub(super) fn bounded(self, most: u64, truncated: Arc<AtomicBool>) -> Self {
        let state = Some((self, Bound::new(most, truncated)));
        let pieces = stream::unfold(state, async |state| {
            let (mut stream, mut bound) = state?;
            loop {
                let (piece, is_last) = match stream.next().await {
                    Some(Ok(piece)) => bound.admit(piece),
                    Some(Err(error)) => return Some((Err(error), Some((stream, bound)))),
                    None => return bound.finish().map(|rest| (Ok(rest), None)),
                };
                if is_last {
                    return Some((Ok(piece), None));
                }
                if !piece.is_empty() {
                    return Some((Ok(piece), Some((stream, bound))));
                }
            }
        });
        ByteStream(pieces.fuse().boxed())
    }

    /// Returns the next piece, or `None` at the end.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        self.0.next().await
    }

    /// Applies a function to each piece as it is read. An error ends the stream as failed. Pieces have arbitrary boundaries, so
    /// what the function searches for may be split between two of them.
    #[must_use]
    pub fn map_pieces(
        self,
        mut change: impl FnMut(Bytes) -> io::Result<Bytes> + Send + 'static,
    ) -> Self {
        let pieces = self.0.map(move |piece| piece.and_then(&mut change));
        ByteStream(pieces.boxed())
    }

    /// Calls a function with the error that ends the stream.
    #[doc(hidden)]
    pub fn on_error(self, note: impl FnMut(&io::Error) + Send + 'static) -> Self {
        ByteStream(self.0.inspect_err(note).boxed())
    }

    /// Puts bytes back: they are the next piece.
    #[doc(hidden)]
    pub fn unread(self, bytes: Bytes) -> Self {
        let first = stream::once(future::ready(Ok(bytes)));
        ByteStream(first.chain(self.0).boxed())
    }

    /// Hashes the pieces as they are read.
    pub(crate) fn hashed(self, hashing: Hashing) -> Self {
        let pieces = self.0.inspect_ok(move |piece| hashing.put(piece));
        ByteStream(pieces.boxed())
    }
}

impl ByteSender {
    /// Sends a piece. Waits while the channel is full.
    ///
    /// # Errors
    /// Returns an error if the stream was dropped. Stop producing then.
    pub async fn send(&self, piece: impl Into<Bytes>) -> Result<(), StreamClosed> {
        self.pieces
            .send(Ok(piece.into()))
            .await
            .map_err(|_| StreamClosed)
    }

    /// Waits until the stream is dropped, so that a producer can stop.
    pub async fn closed(&self) {
        self.pieces.closed().await;
    }

    /// Ends the stream with an error, so that the content sent before is not treated as complete.
    ///
    /// # Errors
    /// Returns an error if the stream was dropped.
    pub async fn fail(self, error: io::Error) -> Result<(), StreamClosed> {
        self.pieces.send(Err(error)).await.map_err(|_| StreamClosed)
    }
}

debug_fields!(ByteStream {});

debug_fields!(ByteSender {});

impl fmt::Display for StreamClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stream was dropped")
    }
}

impl std::error::Error for StreamClosed {}
