//! The part of a decoder that is specific to a protocol.

use serde_json::{Map, Value};
use turnwright_core::Error;

use super::delta::Delta;

/// Reads the frames of one response: events or lines of a stream, or one body.
pub trait FrameReader: Send {
    /// Reads a frame of a stream. `name` is the event type, or empty. Returns whether it is the last frame.
    ///
    /// # Errors
    /// `E_MODEL_SERVER_ERROR` if the server reports an error, `E_WIRE_ERROR` if the frame does not follow the
    /// protocol.
    fn frame(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error>;

    /// Reads a body that is not streamed. The decoder adds [`Delta::Done`].
    ///
    /// # Errors
    /// See [`FrameReader::frame`].
    fn body(&mut self, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error>;

    /// Reads the end of a stream that had no last frame.
    ///
    /// # Errors
    /// See [`FrameReader::frame`].
    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let _ = deltas;
        Ok(())
    }

    /// Returns what the provider expects back with this response, as far as it arrived. Called once, at the end.
    fn take_state(&mut self) -> Map<String, Value> {
        Map::new()
    }
}
