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

/// Bytes and the room that is reserved for them, which is given back when the last clone or slice of the [`Bytes`] made of it
/// is dropped.
struct Reserved {
    capacity: Arc<Capacity>,
    room: u64,
    bytes: Bytes,
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
        let mut reserved = Reserved {
            capacity: Arc::clone(self),
            room: 0,
            bytes: Bytes::new(),
        };
        reserved.bytes = match content {
            Body::Text(text) => {
                reserved.grow(text.len())?;
                Bytes::from(text)
            }
            Body::Bytes(bytes) => {
                reserved.grow(bytes.len())?;
                bytes
            }
            Body::Stream(mut stream) => {
                let mut all = Vec::new();
                while let Some(piece) = stream.next().await {
                    let piece = piece?;
                    reserved.grow(piece.len())?;
                    all.extend_from_slice(&piece);
                }
                // A vector that grew has up to twice the room that it needs.
                all.shrink_to_fit();
                Bytes::from(all)
            }
        };
        Ok(Bytes::from_owner(reserved))
    }
}

impl Reserved {
    fn grow(&mut self, by: usize) -> io::Result<()> {
        let (most, by) = (self.capacity.most, by as u64);
        let more = |used: u64| used.checked_add(by).filter(|sum| *sum <= most);
        let grown = self
            .capacity
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        match grown {
            Ok(_) => {
                self.room += by;
                Ok(())
            }
            Err(used) => {
                let others = used - self.room;
                let advice = self.capacity.advice;
                let message = format!(
                    "the spool in memory is full: it holds at most {most} bytes, and {others} of them are taken by other results: {advice}"
                );
                Err(io::Error::new(io::ErrorKind::StorageFull, message))
            }
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.capacity.used.fetch_sub(self.room, Ordering::Relaxed);
    }
}

impl AsRef<[u8]> for Reserved {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
