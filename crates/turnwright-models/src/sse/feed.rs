//! A stream that is filled by hand: the parser only reads from streams.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures_util::Stream;
use parking_lot::Mutex;

/// The end that bytes are put into, when what was put before is used up.
pub(super) struct Supply(Arc<Mutex<Shared>>);

/// The end that the parser reads from. It waits, but never ends.
pub(super) struct Feed(Arc<Mutex<Shared>>);

/// Bytes that say how far they were read: an event may end anywhere in them.
pub(super) struct Piece {
    bytes: Bytes,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    next: Option<Bytes>,
    /// Bytes that were read since the last event.
    taken: usize,
    last: u8,
    /// A CR ended the last event. An LF after it is of that event too: whether the parser reads it with the one or the
    /// other depends on where the pieces were cut, and must not be seen.
    lf_is_free: bool,
}

pub(super) fn new() -> (Supply, Feed) {
    let shared = Arc::<Mutex<Shared>>::default();
    (Supply(Arc::clone(&shared)), Feed(shared))
}

impl Supply {
    pub(super) fn put(&self, bytes: &[u8]) {
        self.0.lock().next = Some(Bytes::copy_from_slice(bytes));
    }

    /// How many bytes were read since the last event.
    pub(super) fn taken(&self) -> usize {
        self.0.lock().taken
    }

    /// An event came out.
    pub(super) fn begin_next(&self) {
        let mut shared = self.0.lock();
        shared.taken = 0;
        shared.lf_is_free = shared.last == b'\r';
    }
}

impl Stream for Feed {
    type Item = Result<Piece, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.lock().next.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Piece {
                bytes,
                shared: Arc::clone(&self.0),
            }))),
            None => Poll::Pending,
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        let mut shared = self.shared.lock();
        let read = self.bytes.get(..count).unwrap_or(&self.bytes);
        if let (Some(first), Some(last)) = (read.first(), read.last()) {
            let free = shared.lf_is_free && *first == b'\n';
            shared.taken += read.len() - usize::from(free);
            shared.lf_is_free = false;
            shared.last = *last;
        }
        drop(shared);
        self.bytes.advance(count);
    }
}
