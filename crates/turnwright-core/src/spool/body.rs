//! The content of a result.

use std::fmt;

use bytes::Bytes;

use super::stream::ByteStream;

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
    /// Results may hold secrets: only their form and size are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Body::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Body::Stream(_) => f.write_str("Stream"),
        }
    }
}
