//! A parser for server-sent events with bounded memory.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroUsize;

use sse_core::{SseDecoder, SseEvent};
use turnwright_core::{Error, ErrorCode};

use super::too_large;

/// The default for [`EventParser::limit`].
pub(crate) const MAX_EVENT: usize = 8 * 1024 * 1024;

/// An event with data.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The event type; `message` if the server did not set one.
    pub(crate) name: Cow<'static, str>,
    /// The data; lines are joined with LF.
    pub(crate) data: String,
}

/// Parses the bytes of an event stream, in pieces of any size.
///
/// Supports comments, a byte order mark and all three line endings. A block without data is not an event.
pub(crate) struct EventParser {
    decoder: SseDecoder,
    limit: usize,
    /// Bytes since the last event.
    taken: usize,
    /// The first bytes of a character that has not arrived completely.
    partial: Vec<u8>,
}

impl EventParser {
    /// Creates a parser for one stream.
    pub(crate) fn new() -> Self {
        EventParser {
            decoder: SseDecoder::with_limit(NonZeroUsize::MAX),
            limit: MAX_EVENT,
            taken: 0,
            partial: Vec::new(),
        }
    }

    /// Sets the maximum number of bytes from one event to the next. Comments count too, so a server cannot block a
    /// client with them. Default: 8 MiB.
    pub(crate) fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Consumes bytes from the front of `piece` until an event is complete. Returns `None` once `piece` is empty.
    ///
    /// # Errors
    /// `E_WIRE_ERROR` if an event exceeds the limit or is not UTF-8.
    pub(crate) fn next_event(&mut self, piece: &mut &[u8]) -> Result<Option<Event>, Error> {
        while !piece.is_empty() {
            // Never beyond the limit, so that the split into pieces does not affect the result.
            let room = self.limit.saturating_sub(self.taken);
            if room == 0 {
                let limit = self.limit;
                let message = format!(
                    "an event of the response is larger than {limit} bytes, or there was no event in {limit} bytes"
                );
                return Err(too_large(message));
            }
            let (given, _) = piece.split_at(piece.len().min(room));
            let mut rest = given;
            let event = self.decoder.next(&mut rest);
            let (used, later) = piece.split_at(given.len() - rest.len());
            *piece = later;
            self.taken += used.len();
            if !self.is_utf8(used) {
                let message = "an event of the response is not UTF-8";
                return Err(Error::new(ErrorCode::WIRE_ERROR, message));
            }
            if let Some(Ok(SseEvent::Message(event))) = event {
                self.taken = 0;
                let (name, data) = (event.event, event.data);
                return Ok(Some(Event { name, data }));
            }
        }
        Ok(None)
    }

    /// Ends the stream. Returns the last event if the blank line after it is missing.
    ///
    /// # Errors
    /// As for [`EventParser::next_event`].
    pub(crate) fn finish(&mut self) -> Result<Option<Event>, Error> {
        // The first ends the line, or belongs to a CR before it. The second is the blank line.
        self.limit = self.limit.max(self.taken.saturating_add(2));
        self.next_event(&mut b"\n\n".as_slice())
    }

    /// Returns `true` if the stream is UTF-8 so far. The decoder would replace other bytes.
    fn is_utf8(&mut self, bytes: &[u8]) -> bool {
        if self.partial.is_empty() && bytes.is_ascii() {
            return true;
        }
        let mut joined = std::mem::take(&mut self.partial);
        let bytes = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) => {
                self.partial = bytes
                    .get(error.valid_up_to()..)
                    .unwrap_or_default()
                    .to_vec();
                error.error_len().is_none()
            }
        }
    }
}

impl fmt::Debug for Event {
    /// Shows only the size of the data, which is model output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("name", &self.name)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .finish()
    }
}
