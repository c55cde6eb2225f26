//! Content that is written to a spool.

use std::fmt;

use bytes::Bytes;

use super::stream::ByteStream;

/// Content to write to a spool.
///
/// ```
/// use turnwright_core::spool::{Body, ByteStream, MemorySpool, Spool as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let spool = MemorySpool::default();
/// spool.put("text", Body::from("one\ntwo\n")).await?;
///
/// let (sender, stream) = ByteStream::channel(4);
/// tokio::spawn(async move { sender.send("one\n").await });
/// let reader = spool.put("stream", Body::Stream(stream)).await?;
/// assert_eq!(reader.len(), 4);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[non_exhaustive]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Bytes),
    /// A stream of bytes, written to the spool as it arrives.
    Stream(ByteStream),
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Body::Text(text)
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Body::Text(text.to_owned())
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Body::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Body::Bytes(bytes.into())
    }
}

impl From<ByteStream> for Body {
    fn from(stream: ByteStream) -> Self {
        Body::Stream(stream)
    }
}

impl fmt::Debug for Body {
    /// Omits the content, which may be secret. Shows only its form and size.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Body::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Body::Stream(_) => f.write_str("Stream"),
        }
    }
}
