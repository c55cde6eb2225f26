//! Bytes to pieces of a reply.

use std::fmt;

use turnwright_core::Error;

use super::complaint::too_large;
use super::delta::Delta;
use super::reader::Reader;
use super::sniff::{Form, Sniff};
use crate::sse::{self, Frames};

/// How large a response that is not streamed may be, unless told.
pub const MAX_BODY: usize = 64 * 1024 * 1024;

/// Takes the bytes of a response in pieces of any size and gives what they say. How they are cut makes no difference.
pub struct Decoder {
    state: State,
    max_frame: usize,
    max_body: usize,
    reader: Reader,
}

enum State {
    /// Too little was seen to know what it is.
    Begins(Sniff),
    Events(Frames),
    Json(Vec<u8>),
    /// The server said that nothing follows.
    Done,
    Failed(Error),
}

impl Decoder {
    /// For one response, whose content type is a hint: some servers have none, or a wrong one.
    #[must_use]
    pub fn new(content_type: Option<&str>) -> Self {
        Decoder {
            state: State::Begins(Sniff::new(content_type)),
            max_frame: sse::MAX_FRAME,
            max_body: MAX_BODY,
            reader: Reader::default(),
        }
    }

    /// How large an event of a stream may be, and how much may come between two. 8 MiB unless told.
    #[must_use]
    pub fn max_frame(mut self, bytes: usize) -> Self {
        self.max_frame = bytes;
        self
    }

    /// How large a response that is not streamed may be. 64 MiB unless told.
    #[must_use]
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Takes the next bytes, and adds to `deltas` what they say. After an error those that came before it are there.
    ///
    /// # Errors
    /// `E_WIRE_ERROR`: the response is not of the protocol, or larger than allowed. `E_MODEL_SERVER_ERROR`: it is an error of
    /// the server, with its message. From then on always.
    pub fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let taken = self.take(bytes, deltas);
        self.keep(taken)
    }

    /// The response has ended.
    ///
    /// # Errors
    /// As for [`Decoder::push`]; and `E_WIRE_ERROR` where it is empty or ends within an event or a body.
    pub fn finish(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let taken = self.end(deltas);
        self.keep(taken)
    }

    fn take(&mut self, mut bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        if let State::Begins(sniff) = &mut self.state {
            let Some(form) = sniff.look(&mut bytes, self.max_frame)? else {
                return Ok(());
            };
            let head = sniff.head().to_vec();
            self.state = match form {
                Form::Events => State::Events(Frames::new().limit(self.max_frame)),
                Form::Json => State::Json(Vec::new()),
            };
            self.take_known(&head, deltas)?;
        }
        self.take_known(bytes, deltas)
    }

    fn take_known(&mut self, mut bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        match &mut self.state {
            State::Events(frames) => {
                while let Some(event) = frames.next_event(&mut bytes)? {
                    let name = event.name.as_deref();
                    if self.reader.event(name, &event.data, deltas)? {
                        self.state = State::Done;
                        return Ok(());
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
            State::Begins(_) | State::Done => Ok(()),
        }
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        match &mut self.state {
            State::Begins(sniff) => return Err(sniff.neither()),
            State::Events(frames) => {
                if let Some(event) = frames.finish()? {
                    self.reader
                        .event(event.name.as_deref(), &event.data, deltas)?;
                }
            }
            State::Json(body) => {
                let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
                self.reader.body(body, deltas)?;
            }
            State::Done => {}
            State::Failed(error) => return Err(error.clone()),
        }
        self.state = State::Done;
        Ok(())
    }

    fn keep(&mut self, taken: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = &taken {
            self.state = State::Failed(error.clone());
        }
        taken
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Begins(_) => "begins",
            State::Events(_) => "events",
            State::Json(_) => "json",
            State::Done => "done",
            State::Failed(_) => "failed",
        };
        f.debug_struct("Decoder")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
