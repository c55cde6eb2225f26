//! Streams of bytes.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _, future};
use tokio::sync::mpsc;

use super::bound::{Bound, Truncated};
use super::digest::Hashing;
use super::reader::ByteReader;

/// What is read from a reader at once.
const PIECE: u64 = 64 * 1024;

/// Bytes that come piece by piece.
///
/// ```
/// use turnwright_core::spool::ByteStream;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (sender, mut stream) = ByteStream::channel(8);
/// tokio::spawn(async move {
///     for line in ["one\n", "two\n"] {
///         // An error means that the reader is gone.
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

/// The sending end of a [`ByteStream`].
#[derive(Clone)]
pub struct ByteSender {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    torn: Arc<AtomicBool>,
}

impl Drop for ByteSender {
    /// What a panic cut off is not the whole.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.torn.store(true, Ordering::Release);
        }
    }
}

/// The reader of the stream is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamClosed;

impl ByteStream {
    /// A stream, and the end that feeds it; at most `pieces` wait between the two.
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
            torn.then(|| Err(io::Error::other("whoever made the stream panicked")))
        });
        let pieces = stream::poll_fn(move |cx| receiver.poll_recv(cx));
        (sender, ByteStream(pieces.chain(end).boxed()))
    }

    /// All that a reader has, piece by piece, read as it is asked for.
    #[must_use]
    pub(crate) fn of_reader(reader: Arc<dyn ByteReader>) -> Self {
        let pieces = stream::try_unfold((reader, 0), async |(reader, at)| {
            let end = reader.len();
            if at >= end {
                return Ok(None);
            }
            let piece = reader.read(at..end.min(at + PIECE)).await?;
            if piece.is_empty() {
                // Callers must not take an empty read before the end for the end.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let next = at + piece.len() as u64;
            Ok(Some((piece, (reader, next))))
        });
        ByteStream(pieces.boxed())
    }

    /// The same stream, ended after `most` bytes. Its sender then finds it closed.
    pub(super) fn bounded(self, most: u64, truncated: Truncated) -> Self {
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

    /// The next piece, or `None` at the end.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        self.0.next().await
    }

    /// Changes each piece as it is read; an error ends the stream as failed. Pieces are cut anywhere: what is looked for may be split
    /// between two of them.
    #[must_use]
    pub fn map_pieces(
        self,
        mut change: impl FnMut(Bytes) -> io::Result<Bytes> + Send + 'static,
    ) -> Self {
        let pieces = self.0.map(move |piece| piece.and_then(&mut change));
        ByteStream(pieces.boxed())
    }

    /// Gives bytes back: they are the next piece.
    pub(crate) fn unread(self, bytes: Bytes) -> Self {
        let first = stream::once(future::ready(Ok(bytes)));
        ByteStream(first.chain(self.0).boxed())
    }

    /// The same stream, whose pieces are hashed as they are read.
    pub(crate) fn hashed(self, hashing: Hashing) -> Self {
        let pieces = self.0.inspect_ok(move |piece| hashing.put(piece));
        ByteStream(pieces.boxed())
    }
}

impl ByteSender {
    /// Sends a piece; waits while the reader is behind.
    ///
    /// # Errors
    /// The reader is gone: stop.
    pub async fn send(&self, piece: impl Into<Bytes>) -> Result<(), StreamClosed> {
        self.pieces
            .send(Ok(piece.into()))
            .await
            .map_err(|_| StreamClosed)
    }

    /// Waits until the reader is gone, so that a producer can stop.
    pub async fn closed(&self) {
        self.pieces.closed().await;
    }

    /// Ends the stream as failed; what was sent before is not taken for the whole.
    ///
    /// # Errors
    /// The reader is gone.
    pub async fn fail(self, error: io::Error) -> Result<(), StreamClosed> {
        self.pieces.send(Err(error)).await.map_err(|_| StreamClosed)
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}

impl fmt::Debug for ByteSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteSender")
    }
}

impl fmt::Display for StreamClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the stream any more")
    }
}

impl std::error::Error for StreamClosed {}
