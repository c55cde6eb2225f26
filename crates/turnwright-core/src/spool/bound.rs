//! Results of bounded size.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};

use super::body::Body;

/// Whether a result was cut off at its bound. Of a stream that is known once it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truncated(Arc<AtomicBool>);

impl Truncated {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Body {
    /// The same content, cut off after `most` bytes: up to three bytes earlier where a character would be split.
    pub(crate) fn bounded(self, most: u64) -> (Self, Truncated) {
        let truncated = Truncated::default();
        let body = match self {
            Body::Text(mut text) => {
                if let Some(end) = cut(text.as_bytes(), most) {
                    truncated.set();
                    text.truncate(text.floor_char_boundary(end));
                    // What was cut off is given back.
                    text.shrink_to_fit();
                }
                Body::Text(text)
            }
            Body::Bytes(bytes) => match cut(&bytes, most).and_then(|end| bytes.get(..end)) {
                Some(rest) => {
                    truncated.set();
                    // A slice would keep all of the bytes alive.
                    Body::Bytes(Bytes::copy_from_slice(rest))
                }
                None => Body::Bytes(bytes),
            },
            Body::Stream(stream) => Body::Stream(stream.bounded(most, truncated.clone())),
        };
        (body, truncated)
    }
}

/// Where bytes are cut off, if there are more than `most`.
fn cut(bytes: &[u8], most: u64) -> Option<usize> {
    let most = usize::try_from(most).ok()?;
    bytes
        .get(..most)
        .filter(|first| first.len() < bytes.len())
        .map(whole_characters)
}

/// The length of `bytes` without a character of UTF-8 that is begun at its end and not ended.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    for (from_end, byte) in (1..=3).zip(bytes.iter().rev()) {
        let length = match byte {
            // In the midst of a character.
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

/// The longest part of a character that a stream may have to hold back, and one more.
const CHARACTER: u64 = 4;

/// The bound of a stream.
pub(super) struct Bound {
    /// How many bytes may still be given out.
    left: u64,
    /// The beginning of a character near the bound, held back until the rest of it came.
    held_back: Bytes,
    truncated: Truncated,
}

impl Bound {
    pub(super) fn new(most: u64, truncated: Truncated) -> Self {
        Bound {
            left: most,
            held_back: Bytes::new(),
            truncated,
        }
    }

    /// What may be given out now, and whether the rest is cut off.
    pub(super) fn admit(&mut self, piece: Bytes) -> (Bytes, bool) {
        let mut piece = match self.held_back.is_empty() {
            true => piece,
            false => {
                let mut joined = BytesMut::from(&*std::mem::take(&mut self.held_back));
                joined.extend_from_slice(&piece);
                joined.freeze()
            }
        };
        if let Some(end) = cut(&piece, self.left) {
            self.truncated.set();
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

    /// The stream ended within its bound: what was held back, if anything.
    pub(super) fn finish(&mut self) -> Option<Bytes> {
        let rest = std::mem::take(&mut self.held_back);
        (!rest.is_empty()).then_some(rest)
    }
}
