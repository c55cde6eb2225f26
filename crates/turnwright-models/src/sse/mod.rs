//! Server-sent events out of the bytes of a response, however they arrive, and bounded.
//!
//! ```
//! use turnwright_models::sse::Frames;
//!
//! let mut frames = Frames::new();
//! let mut piece: &[u8] = b"data: one\n\ndata: t";
//! assert_eq!(frames.next_event(&mut piece)?.unwrap().data, "one");
//! assert_eq!(frames.next_event(&mut piece)?, None);
//! let mut piece: &[u8] = b"wo\r\n";
//! assert_eq!(frames.next_event(&mut piece)?, None);
//! assert_eq!(frames.finish()?.unwrap().data, "two");
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod feed;

#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_util::Stream as _;
use sse_stream::SseByteStream;
use turnwright_core::{Error, ErrorCode, ErrorKind};

use feed::{Feed, Supply};

/// How many bytes may come before an event is whole, unless told.
pub const MAX_FRAME: usize = 8 * 1024 * 1024;

/// What is given to the parser at once, so that what it holds stays near the limit whatever is pushed.
const SLICE: usize = 16 * 1024;

/// An event that carries data.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Its type, where it has one.
    pub name: Option<String>,
    /// Its data, lines joined by LF.
    pub data: String,
}

/// Takes the bytes of a stream of events in pieces of any size, and gives the events.
///
/// Nothing is kept of what was not yet a whole event beyond the limit, and no byte of a piece is taken before it is needed.
pub struct Frames {
    events: SseByteStream<Feed>,
    supply: Supply,
    limit: usize,
    failed: Option<Error>,
}

impl Frames {
    /// For one stream, with the usual limit.
    #[must_use]
    pub fn new() -> Self {
        let (supply, feed) = feed::new();
        Frames {
            events: SseByteStream::new(feed),
            supply,
            limit: MAX_FRAME,
            failed: None,
        }
    }

    /// At most so many bytes from one event to the next. Comments count: a server cannot hold a client with them forever.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// The next event, taking from `piece` what it needs; `None` once the piece is used up.
    ///
    /// Blocks without data are not events. A comment, a byte order mark and any line ending are understood.
    ///
    /// # Errors
    /// `E_WIRE_ERROR`: an event is larger than the limit, or is not UTF-8. From then on always.
    pub fn next_event(&mut self, piece: &mut &[u8]) -> Result<Option<Event>, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        loop {
            if let Some(event) = self.poll()? {
                return Ok(Some(event));
            }
            if piece.is_empty() {
                return Ok(None);
            }
            // Never past the limit: how a stream is cut up does not decide whether it passes.
            let room = self.limit.saturating_sub(self.supply.taken());
            if room == 0 {
                let limit = self.limit;
                let message = format!(
                    "an event of the response is larger than {limit} bytes, or there is none in as many"
                );
                // It would be as large again.
                return Err(self.fail(message, ErrorKind::Internal));
            }
            let (now, later) = piece.split_at(piece.len().min(SLICE).min(room));
            *piece = later;
            self.supply.put(now);
        }
    }

    /// The stream has ended: the last event, where it lacks the blank line that ends one.
    ///
    /// # Errors
    /// `E_WIRE_ERROR`, as for [`Frames::next_event`].
    pub fn finish(&mut self) -> Result<Option<Event>, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        // One ends the line, or belongs to a CR before it; the other is the blank line.
        self.supply.put(b"\n\n");
        self.poll()
    }

    /// What comes out of what the parser was given.
    fn poll(&mut self) -> Result<Option<Event>, Error> {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match Pin::new(&mut self.events).poll_next(&mut context) {
                Poll::Ready(Some(Ok(block))) => {
                    if let Some(data) = block.data {
                        self.supply.begin_next();
                        let name = block.event;
                        return Ok(Some(Event { name, data }));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    let message = "an event of the response is not UTF-8".to_owned();
                    return Err(self.fail(message, ErrorKind::Unavailable));
                }
                Poll::Ready(None) | Poll::Pending => return Ok(None),
            }
        }
    }

    fn fail(&mut self, message: String, kind: ErrorKind) -> Error {
        let error = Error::new(ErrorCode::Wire, message).with_kind(kind);
        // What the parser still holds is of no use.
        let (supply, feed) = feed::new();
        self.events = SseByteStream::new(feed);
        self.supply = supply;
        self.failed = Some(error.clone());
        error
    }
}

impl Default for Frames {
    fn default() -> Self {
        Frames::new()
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("limit", &self.limit)
            .field("failed", &self.failed.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Event {
    /// The data is a model's words: only its size is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("name", &self.name)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .finish()
    }
}
