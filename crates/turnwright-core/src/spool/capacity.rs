//! How many bytes a spool in memory may hold.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::spool::Body;

/// The bytes that a spool may hold, and how many it holds now.
#[derive(Debug)]
pub(super) struct Capacity {
    most: u64,
    used: AtomicU64,
    /// What to do when it is full.
    advice: &'static str,
}

/// A share of a [`Capacity`], given back when it is dropped.
struct Reservation {
    capacity: Arc<Capacity>,
    bytes: u64,
}

/// Bytes and the room that is reserved for them. It lives for as long as any clone or slice of the [`Bytes`] made of it.
struct Held {
    bytes: Bytes,
    _room: Reservation,
}

impl Capacity {
    pub(super) fn new(most: u64, advice: &'static str) -> Arc<Self> {
        Arc::new(Capacity {
            most,
            used: AtomicU64::new(0),
            advice,
        })
    }

    /// Takes all bytes of a content into memory. Room is reserved before a piece of a stream is kept.
    ///
    /// # Errors
    /// The content does not fit, or its stream failed.
    pub(super) async fn take_in(self: &Arc<Self>, content: Body) -> io::Result<Bytes> {
        let mut room = Reservation {
            capacity: Arc::clone(self),
            bytes: 0,
        };
        let bytes = match content {
            Body::Text(text) => {
                room.grow(text.len())?;
                Bytes::from(text)
            }
            Body::Bytes(bytes) => {
                room.grow(bytes.len())?;
                bytes
            }
            Body::Stream(mut stream) => {
                let mut all = Vec::new();
                while let Some(piece) = stream.next().await {
                    let piece = piece?;
                    room.grow(piece.len())?;
                    all.extend_from_slice(&piece);
                }
                // A vector that grew has up to twice the room that it needs.
                all.shrink_to_fit();
                Bytes::from(all)
            }
        };
        Ok(Bytes::from_owner(Held { bytes, _room: room }))
    }
}

impl Reservation {
    fn grow(&mut self, by: usize) -> io::Result<()> {
        let (most, by) = (self.capacity.most, by as u64);
        let more = |used: u64| used.checked_add(by).filter(|sum| *sum <= most);
        let grown = self
            .capacity
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        match grown {
            Ok(_) => {
                self.bytes += by;
                Ok(())
            }
            Err(used) => {
                let others = used - self.bytes;
                let advice = self.capacity.advice;
                let message = format!(
                    "the spool in memory is full: it holds at most {most} bytes, and {others} of them are taken by other results: {advice}"
                );
                Err(io::Error::new(io::ErrorKind::StorageFull, message))
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.capacity.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
