//! Splits a stream of JSON objects, usually one per line (NDJSON).

use turnwright_core::{Error, ErrorCode};

use super::extent::Extent;
use super::server_error::too_large;

/// Splits the bytes of a stream into objects, in pieces of any size. An object may span several lines, so a body that
/// is not streamed is a stream of one object.
pub(super) struct ObjectParser {
    buffer: Vec<u8>,
    extent: Extent,
    /// The number of bytes since the last object, white space before the next one included: blank lines without end must
    /// not keep a client busy.
    read: usize,
    limit: usize,
}

impl ObjectParser {
    pub(super) fn new(limit: usize) -> Self {
        ObjectParser {
            buffer: Vec::new(),
            extent: Extent::default(),
            read: 0,
            limit,
        }
    }

    /// Consumes bytes from the front of `piece` until an object is complete. Returns `None` once `piece` is empty.
    ///
    /// # Errors
    /// `E_WIRE_ERROR` if an object with the white space before it exceeds the limit, or is not UTF-8.
    pub(super) fn next_object(&mut self, piece: &mut &[u8]) -> Result<Option<String>, Error> {
        while let Some((&byte, rest)) = piece.split_first() {
            *piece = rest;
            if self.read >= self.limit {
                let limit = self.limit;
                let message = format!("a line of the response is larger than {limit} bytes");
                return Err(too_large(message));
            }
            self.read += 1;
            if self.buffer.is_empty() && byte.is_ascii_whitespace() {
                continue;
            }
            self.extent.add_byte(byte);
            self.buffer.push(byte);
            // Text that is not an object ends with its line; it will be reported as unreadable.
            let is_object = self.buffer.first() == Some(&b'{');
            if self.extent.is_complete() || (!is_object && byte == b'\n') {
                return self.take().map(Some);
            }
        }
        Ok(None)
    }

    /// Ends the stream. Returns the rest, which is a truncated object.
    ///
    /// # Errors
    /// `E_WIRE_ERROR` if it is not UTF-8.
    pub(super) fn finish(&mut self) -> Result<Option<String>, Error> {
        if self.buffer.is_empty() {
            Ok(None)
        } else {
            self.take().map(Some)
        }
    }

    fn take(&mut self) -> Result<String, Error> {
        self.extent = Extent::default();
        self.read = 0;
        String::from_utf8(std::mem::take(&mut self.buffer))
            .map_err(|_| Error::new(ErrorCode::WIRE_ERROR, "a line of the response is not UTF-8"))
    }
}
