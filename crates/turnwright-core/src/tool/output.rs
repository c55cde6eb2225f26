//! What a handler may return.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::mpsc;

use super::bound::{Admitted, Bound, Truncated};
use super::error::ToolError;
use super::json;
use crate::artifact::ArtifactKind;
use crate::media::Media;
use crate::spool::{ByteReader, Hashing};

/// What is read from a reader at once.
const PIECE: u64 = 64 * 1024;

/// What a tool gave: text, bytes, a stream of bytes or media, as the handler returned it.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The content.
    pub content: Content,
    /// What the content is, where the handler knows better than the tool's definition.
    pub kind: Option<ArtifactKind>,
    /// The handler does not vouch for it, whatever the tool's definition says.
    pub untrusted: bool,
}

/// The content of an output.
#[derive(Debug)]
#[non_exhaustive]
pub enum Content {
    /// What the spool keeps and the model asks, or reads in the prompt.
    Body(Body),
    /// What a provider may show to the model natively.
    Media(Vec<Media>),
}

/// Content that a spool keeps.
#[non_exhaustive]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Bytes),
    /// Bytes that come piece by piece, and are spooled as they come.
    Stream(ByteStream),
}

impl ToolOutput {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }

    /// Bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Body::Bytes(bytes.into()).into()
    }

    /// Media: each with a trust tier of its own, whatever the tool says.
    pub fn media(media: impl IntoIterator<Item = Media>) -> Self {
        Content::Media(media.into_iter().collect()).into()
    }

    /// The same content as another kind of artifact.
    #[must_use]
    pub fn of_kind(mut self, kind: ArtifactKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The same content, not vouched for. Trust can be lowered here, never raised.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// The text, where it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Body(Body::Text(text)) => Some(text),
            Content::Body(Body::Bytes(_) | Body::Stream(_)) | Content::Media(_) => None,
        }
    }
}

impl From<Body> for ToolOutput {
    fn from(body: Body) -> Self {
        Content::Body(body).into()
    }
}

impl From<Content> for ToolOutput {
    fn from(content: Content) -> Self {
        ToolOutput {
            content,
            kind: None,
            untrusted: false,
        }
    }
}

impl fmt::Debug for Body {
    /// Results may hold secrets: only their form and size are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Body::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Body::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Anything that serialises, returned as JSON of at most 128 levels. A call whose result is deeper fails.
///
/// ```
/// use turnwright_core::{ArtifactKind, IntoToolResult, Json};
///
/// let output = Json([1, 2, 3]).into_tool_result().unwrap();
/// assert_eq!(output.as_text(), Some("[1,2,3]"));
/// assert_eq!(output.kind, Some(ArtifactKind::JSON));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// Bytes that come piece by piece.
///
/// ```
/// use turnwright_core::ByteStream;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (sender, mut stream) = ByteStream::channel(8);
/// tokio::spawn(async move {
///     for line in ["one\n", "two\n"] {
///         // An error means that nobody reads any more.
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

/// Nobody reads the stream any more.
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
                    // Nothing before the end is no end: whoever reads must not take it for one.
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
    /// Nobody reads any more: stop.
    pub async fn send(&self, piece: impl Into<Bytes>) -> Result<(), StreamClosed> {
        self.pieces
            .send(Ok(piece.into()))
            .await
            .map_err(|_| StreamClosed)
    }

    /// Waits until nobody reads any more: whoever fetches from afar stops then.
    pub async fn closed(&self) {
        self.pieces.closed().await;
    }

    /// Ends the stream as failed; what was sent before is not taken for the whole.
    ///
    /// # Errors
    /// Nobody reads any more.
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

/// What a handler may return: text, bytes, a stream, [`Json`], one [`Media`] or several, nothing, a [`ToolOutput`], or a `Result` of one of
/// these and a [`ToolError`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "the handler returns this",
    note = "return a `String`, `&'static str`, `Vec<u8>`, `Bytes`, `ByteStream`, `Json(value)`, `Media`, `Vec<Media>`, `()` or `ToolOutput`, or a `Result` of one of these with `ToolError` as its error"
)]
pub trait IntoToolResult {
    /// Makes the result of the call.
    ///
    /// # Errors
    /// The handler failed, or what it returned cannot be serialised.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

/// What a handler may return when it succeeds.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "the handler returns this",
    note = "return a `String`, `&'static str`, `Vec<u8>`, `Bytes`, `ByteStream`, `Json(value)`, `Media`, `Vec<Media>`, `()` or `ToolOutput`"
)]
pub trait IntoToolOutput {
    /// Makes the output.
    ///
    /// # Errors
    /// It cannot be serialised.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

/// One table for everything that becomes an output by itself.
macro_rules! outputs {
    ($($type:ty, $value:ident => $make:expr;)+) => {$(
        impl IntoToolOutput for $type {
            fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
                let $value = self;
                $make
            }
        }

        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
                self.into_tool_output()
            }
        }
    )+};
}

outputs! {
    ToolOutput, output => Ok(output);
    String, text => Ok(ToolOutput::text(text));
    &'static str, text => Ok(ToolOutput::text(text));
    (), _nothing => Ok(ToolOutput::text(""));
    Vec<u8>, bytes => Ok(ToolOutput::bytes(bytes));
    Bytes, bytes => Ok(ToolOutput::bytes(bytes));
    ByteStream, stream => Ok(Body::Stream(stream).into());
    Media, media => Ok(ToolOutput::media([media]));
    Vec<Media>, media => Ok(ToolOutput::media(media));
}

impl<T: Serialize + 'static> IntoToolOutput for Json<T> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(json::write(self.0)?).of_kind(ArtifactKind::JSON))
    }
}

impl<T: Serialize + 'static> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.into_tool_output()
    }
}

impl<T: IntoToolOutput> IntoToolResult for Result<T, ToolError> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.and_then(IntoToolOutput::into_tool_output)
    }
}
