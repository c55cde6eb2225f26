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
