//! Turns the bytes of a response into deltas.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode};

use super::delta::Delta;
use super::format::{Format, FormatDetector, Framing};
use super::lines::ObjectParser;
use super::server_error::too_large;
use super::sse::{self, EventParser};

/// The default for [`Decoder::max_body`].
pub const MAX_BODY: usize = 64 * 1024 * 1024;

/// Decodes the bytes of a response, in pieces of any size. How the bytes are split does not affect the result.
///
/// Created by [`Protocol::decoder`](crate::Protocol::decoder).
pub struct Decoder {
    state: State,
    max_event: usize,
    max_body: usize,
    reader: Box<dyn FrameReader>,
}

enum State {
    /// The format is not known yet.
    Detecting(FormatDetector),
    Frames(Frames),
    Json(Vec<u8>),
    /// Nothing follows.
    Done,
    Failed(Error),
}

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

/// The frames of a stream.
enum Frames {
    Events(EventParser),
    Objects(ObjectParser),
}

impl Frames {
    /// Returns the next frame with its event type, or `None` once `piece` is empty.
    fn next(&mut self, piece: &mut &[u8]) -> Result<Option<(Cow<'static, str>, String)>, Error> {
        Ok(match self {
            Frames::Events(parser) => parser
                .next_event(piece)?
                .map(|event| (event.name, event.data)),
            Frames::Objects(parser) => parser.next_object(piece)?.map(|data| ("".into(), data)),
        })
    }

    /// Returns the last frame if its end is missing.
    fn finish(&mut self) -> Result<Option<(Cow<'static, str>, String)>, Error> {
        Ok(match self {
            Frames::Events(parser) => parser.finish()?.map(|event| (event.name, event.data)),
            Frames::Objects(parser) => parser.finish()?.map(|data| ("".into(), data)),
        })
    }
}

impl Decoder {
    /// Creates a decoder for one response. The content type is only a hint: some servers send none or a wrong one.
    pub(crate) fn new(
        reader: Box<dyn FrameReader>,
        framing: Framing,
        content_type: Option<&str>,
    ) -> Self {
        Decoder {
            state: State::Detecting(FormatDetector::new(framing, content_type)),
            max_event: sse::MAX_EVENT,
            max_body: MAX_BODY,
            reader,
        }
    }

    /// Sets the maximum size of an event or a line, and of the bytes between two of them. Default: 8 MiB.
    #[must_use]
    pub fn max_event(mut self, bytes: usize) -> Self {
        self.max_event = bytes;
        self
    }

    /// Sets the maximum size of a response that is not streamed. Default: 64 MiB.
    #[must_use]
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Decodes the next bytes and appends the result to `deltas`, up to the first error.
    ///
    /// # Errors
    /// `E_WIRE_ERROR` if the response does not follow the protocol or exceeds a limit. `E_MODEL_SERVER_ERROR` if the
    /// server reports an error. Every later call returns the same error.
    pub fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let result = self.detect(bytes, deltas);
        self.remember(result)
    }

    /// Ends the response.
    ///
    /// # Errors
    /// Like [`Decoder::push`]; also `E_WIRE_ERROR` if the response is empty or ends within an event or a body.
    pub fn finish(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let result = self.end(deltas);
        self.remember(result)
    }

    /// Returns what the provider expects back with this response ([`Reply::state`](super::Reply::state)), as far as it
    /// arrived. Call it once, at the end.
    pub fn take_state(&mut self) -> Map<String, Value> {
        self.reader.take_state()
    }

    fn detect(&mut self, mut bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        if let State::Detecting(detector) = &mut self.state {
            let Some(format) = detector.detect(&mut bytes, self.max_event)? else {
                return Ok(());
            };
            let head = detector.head().to_vec();
            self.state = match format {
                Format::Events => {
                    State::Frames(Frames::Events(EventParser::new().limit(self.max_event)))
                }
                Format::Objects => {
                    State::Frames(Frames::Objects(ObjectParser::new(self.max_event)))
                }
                Format::Json => State::Json(Vec::new()),
            };
            self.decode(&head, deltas)?;
        }
        self.decode(bytes, deltas)
    }

    fn decode(&mut self, mut bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        match &mut self.state {
            State::Frames(frames) => {
                while let Some((name, data)) = frames.next(&mut bytes)? {
                    if self.reader.frame(&name, &data, deltas)? {
                        self.state = State::Done;
                        break;
                    }
                }
                Ok(())
            }
            State::Json(body) => {
                if bytes.len() > self.max_body.saturating_sub(body.len()) {
                    let message = format!("the response is larger than {} bytes", self.max_body);
                    return Err(too_large(message));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            State::Failed(error) => Err(error.clone()),
            State::Detecting(_) | State::Done => Ok(()),
        }
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        match &mut self.state {
            State::Detecting(detector) => return Err(detector.unknown()),
            State::Frames(frames) => {
                let is_last = match frames.finish()? {
                    Some((name, data)) => self.reader.frame(&name, &data, deltas)?,
                    None => false,
                };
                if !is_last {
                    self.reader.end(deltas)?;
                }
            }
            State::Json(body) => {
                let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
                let text = std::str::from_utf8(body)
                    .map_err(|_| Error::new(ErrorCode::WIRE_ERROR, "the response is not UTF-8"))?;
                self.reader.body(text.trim(), deltas)?;
                deltas.push(Delta::Done);
            }
            State::Done => {}
            State::Failed(error) => return Err(error.clone()),
        }
        self.state = State::Done;
        Ok(())
    }

    fn remember(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = &result {
            self.state = State::Failed(error.clone());
        }
        result
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}
