//! The capacity of a spool in memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::spool::Body;

/// The capacity of a spool, and how much of it is in use.
#[derive(Debug)]
pub(super) struct Capacity {
    most: u64,
    used: AtomicU64,
    /// What to do when the spool is full, for the error message.
    advice: &'static str,
}

/// Bytes and the capacity reserved for them. The capacity is released when the last clone or slice of the resulting [`Bytes`] is
/// dropped.
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

    /// Reads content into memory. Reserves capacity before each piece of a stream is stored.
    ///
    /// # Errors
    /// Returns an error if the content does not fit or its stream fails.
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
                // A vector that has grown may have up to twice the needed capacity.
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
                    "the in-memory spool is full: its capacity is {most} bytes, of which other results use {others}. To fix this, {advice}"
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
