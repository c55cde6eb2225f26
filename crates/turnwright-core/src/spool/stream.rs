//! Streams of bytes.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::bound::{Admitted, Bound, Truncated};
use super::digest::Hashing;
use super::reader::ByteReader;

/// What is read from a reader at once.
const PIECE: u64 = 64 * 1024;

/// Bytes that come piece by piece.
///
/// ```
/// use turnwright_core::ByteStream;
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
pub struct ByteStream {
    source: Source,
    bound: Option<Bound>,
    /// What was read and given back: it comes first.
    unread: Option<Bytes>,
    /// Takes part in every piece that is read.
    hashing: Option<Hashing>,
}

enum Source {
    /// Nothing more comes.
    Ended,
    Channel {
        pieces: mpsc::Receiver<io::Result<Bytes>>,
        torn: Arc<AtomicBool>,
    },
    Reader {
        reader: Arc<dyn ByteReader>,
        at: u64,
    },
}

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
        let (sender, receiver) = mpsc::channel(pieces.max(1));
        let torn = Arc::new(AtomicBool::new(false));
        let stream = ByteStream::from(Source::Channel {
            pieces: receiver,
            torn: Arc::clone(&torn),
        });
        let pieces = sender;
        (ByteSender { pieces, torn }, stream)
    }

    /// All that a reader has, piece by piece, read as it is asked for.
    #[must_use]
    pub fn of_reader(reader: Arc<dyn ByteReader>) -> Self {
        ByteStream::from(Source::Reader { reader, at: 0 })
    }

    /// The same stream, ended after `most` bytes. Its sender then finds it closed.
    pub(super) fn bounded(self, most: u64, truncated: Truncated) -> Self {
        ByteStream {
            bound: Some(Bound::new(most, truncated)),
            ..self
        }
    }

    /// The next piece, or `None` at the end.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let piece = match self.unread.take() {
            Some(unread) => Some(Ok(unread)),
            None => self.next_within_bound().await,
        };
        if let (Some(hashing), Some(Ok(piece))) = (&self.hashing, &piece) {
            hashing.put(piece);
        }
        piece
    }

    async fn next_within_bound(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let piece = match (self.source.next().await, &mut self.bound) {
                (piece, None) => return piece,
                (Some(Err(error)), Some(_)) => return Some(Err(error)),
                (Some(Ok(piece)), Some(bound)) => bound.admit(piece),
                (None, Some(bound)) => return bound.finish().map(Ok),
            };
            match piece {
                Admitted::Piece(piece) if piece.is_empty() => {}
                Admitted::Piece(piece) => return Some(Ok(piece)),
                Admitted::Last(piece) => {
                    self.source = Source::Ended;
                    return Some(Ok(piece));
                }
            }
        }
    }

    /// Gives bytes back: they are the next piece.
    pub(crate) fn unread(&mut self, bytes: Bytes) {
        self.unread = Some(bytes);
    }

    /// The same stream, whose pieces are hashed as they are read.
    pub(crate) fn hashed(mut self, hashing: Hashing) -> Self {
        self.hashing = Some(hashing);
        self
    }
}

impl From<Source> for ByteStream {
    fn from(source: Source) -> Self {
        ByteStream {
            source,
            bound: None,
            unread: None,
            hashing: None,
        }
    }
}

impl Source {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        match self {
            Source::Ended => None,
            Source::Channel { pieces, torn } => match pieces.recv().await {
                None if torn.swap(false, Ordering::AcqRel) => {
                    Some(Err(io::Error::other("whoever made the stream panicked")))
                }
                piece => piece,
            },
            Source::Reader { reader, at } => {
                let end = reader.len();
                if *at >= end {
                    return None;
                }
                let piece = reader.read(*at..end.min(*at + PIECE)).await;
                *at = match &piece {
                    // An empty read before the end is an error: callers must not take it for the end.
                    Ok(bytes) if bytes.is_empty() => {
                        *at = end;
                        return Some(Err(io::ErrorKind::UnexpectedEof.into()));
                    }
                    Ok(bytes) => *at + bytes.len() as u64,
                    Err(_) => end,
                };
                Some(piece)
            }
        }
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
