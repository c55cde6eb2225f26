//! Content that is written to a spool, and how it is limited.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};

use super::stream::ByteStream;

/// Content to write to a spool.
///
/// ```
/// use turnwright_artifact::spool::{Body, ByteStream, MemorySpool, Spool as _};
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

impl Body {
    /// Truncates the content to `most` bytes, or up to three bytes less to avoid splitting a character. Also returns whether
    /// content was cut off, which for a stream is known only after it has been read.
    #[doc(hidden)]
    pub fn bounded(self, most: u64) -> (Self, Arc<AtomicBool>) {
        let truncated = Arc::new(AtomicBool::new(false));
        let body = match self {
            Body::Text(mut text) => {
                if let Some(end) = cut(text.as_bytes(), most) {
                    truncated.store(true, Ordering::Release);
                    text.truncate(text.floor_char_boundary(end));
                    // Free the memory of the part that was cut off.
                    text.shrink_to_fit();
                }
                Body::Text(text)
            }
            Body::Bytes(bytes) => match cut(&bytes, most).and_then(|end| bytes.get(..end)) {
                Some(rest) => {
                    truncated.store(true, Ordering::Release);
                    // A slice would keep all of the bytes alive.
                    Body::Bytes(Bytes::copy_from_slice(rest))
                }
                None => Body::Bytes(bytes),
            },
            Body::Stream(stream) => Body::Stream(stream.bounded(most, Arc::clone(&truncated))),
        };
        (body, truncated)
    }
}

/// Returns where to cut, if there are more than `most` bytes.
fn cut(bytes: &[u8], most: u64) -> Option<usize> {
    let most = usize::try_from(most).ok()?;
    bytes
        .get(..most)
        .filter(|first| first.len() < bytes.len())
        .map(whole_characters)
}

/// Returns the length of `bytes` without an incomplete UTF-8 character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    for (from_end, byte) in (1..=3).zip(bytes.iter().rev()) {
        let length = match byte {
            // A continuation byte.
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        if length > from_end {
            end -= from_end;
        }
        break;
    }
    end
}

/// The most bytes of a character that a stream may have to hold back, plus one.
const CHARACTER: u64 = 4;

/// The limit of a stream.
pub(super) struct Bound {
    /// How many bytes may still be passed on.
    left: u64,
    /// The start of a character near the limit, held back until the rest arrives.
    held_back: Bytes,
    truncated: Arc<AtomicBool>,
}

impl Bound {
    pub(super) fn new(most: u64, truncated: Arc<AtomicBool>) -> Self {
        Bound {
            left: most,
            held_back: Bytes::new(),
            truncated,
        }
    }

    /// Returns what may be passed on now, and whether the rest is cut off.
    pub(super) fn admit(&mut self, piece: Bytes) -> (Bytes, bool) {
        let mut piece = if self.held_back.is_empty() {
            piece
        } else {
            let mut joined = BytesMut::from(&*std::mem::take(&mut self.held_back));
            joined.extend_from_slice(&piece);
            joined.freeze()
        };
        if let Some(end) = cut(&piece, self.left) {
            self.truncated.store(true, Ordering::Release);
            piece.truncate(end);
            return (piece, true);
        }
        let length = piece.len() as u64;
        if self.left - length < CHARACTER {
            self.held_back = piece.split_off(whole_characters(&piece));
        }
        self.left -= piece.len() as u64;
        (piece, false)
    }

    /// Returns what was held back, after the stream ended within its limit.
    pub(super) fn finish(&mut self) -> Option<Bytes> {
        let rest = std::mem::take(&mut self.held_back);
        (!rest.is_empty()).then_some(rest)
    }
}
