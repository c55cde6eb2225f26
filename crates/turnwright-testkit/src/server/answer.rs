//! Answers, as a list of steps.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// An answer: a status, headers, and the [`Step`]s of its body. The body ends properly unless a step ends it
/// otherwise.
///
/// ```
/// use std::time::Duration;
/// use turnwright_testkit::server::{Answer, Step};
///
/// // A stream that breaks after its first event.
/// Answer::sse([r#"{"choices":[]}"#]).step(Step::Reset);
/// // A slow stream.
/// Answer::sse(["one", "two"]).drip(3, Duration::from_millis(1));
/// ```
#[must_use = "an answer does nothing until a server gives it"]
#[derive(Clone)]
pub struct Answer {
    pub(super) delay: Duration,
    pub(super) early: Option<Step>,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) chunked: bool,
    pub(super) steps: Vec<Step>,
}

/// A step of a body. Steps after [`Step::Hang`], [`Step::Reset`] and [`Step::Close`] are not reached.
///
/// ```
/// use std::time::Duration;
/// use turnwright_testkit::server::{Answer, Step};
///
/// // Half of an event, a pause, then a reset connection.
/// let answer = Answer::event_stream()
///     .step(Step::send("data: {\"cho"))
///     .step(Step::Pause(Duration::from_millis(10)))
///     .step(Step::Reset);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Sends these bytes: as one chunk if the body is chunked.
    Send(Bytes),
    /// Sends the same bytes repeatedly: this many times, or endlessly. Each repetition is a chunk.
    Repeat(Bytes, Option<u64>),
    /// Waits, on tokio's clock.
    Pause(Duration),
    /// Sends nothing more, and keeps the connection open until the client closes it.
    Hang,
    /// Resets the connection (TCP RST), after earlier bytes were handed to the system.
    Reset,
    /// Closes the connection before the end of the body.
    Close,
}

impl Answer {
    /// Creates an answer with this status and no body.
    pub fn status(status: u16) -> Self {
        Answer {
            delay: Duration::ZERO,
            early: None,
            status,
            headers: Vec::new(),
            chunked: false,
            steps: Vec::new(),
        }
    }

    /// Creates a JSON answer.
    #[expect(clippy::needless_pass_by_value, reason = "callers mostly pass `json!`")]
    pub fn json(status: u16, body: Value) -> Self {
        Answer::status(status)
            .header("content-type", "application/json")
            .body(body.to_string())
    }

    /// Creates a stream of server-sent events: each is sent as `data: …` and a blank line, in a separate chunk.
    /// Multi-line events are not split: pass single lines.
    pub fn sse(events: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let frames = events.into_iter().map(|event| {
            let frame = format!("data: {}\n\n", event.into());
            Step::Send(frame.into())
        });
        Answer::event_stream().steps(frames)
    }

    /// Creates the head of a stream of server-sent events; add its frames step by step.
    pub fn event_stream() -> Self {
        Answer::status(200)
            .header("content-type", "text/event-stream")
            .chunked()
    }

    /// Sends no answer: resets the connection (TCP RST) after the request was read.
    pub fn reset() -> Self {
        Answer::early(Step::Reset)
    }

    /// Sends no answer: stays silent until the client closes the connection.
    pub fn hang() -> Self {
        Answer::early(Step::Hang)
    }

    /// Sends no answer: closes the connection after the request was read.
    pub fn close() -> Self {
        Answer::early(Step::Close)
    }

    fn early(early: Step) -> Self {
        Answer {
            early: Some(early),
            ..Answer::status(200)
        }
    }

    /// Adds a header. A custom `content-length` is sent unchanged, whatever the body's length.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a step that sends these bytes.
    pub fn body(self, bytes: impl Into<Bytes>) -> Self {
        self.step(Step::Send(bytes.into()))
    }

    /// Adds a step.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds several steps.
    pub fn steps(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Uses chunked encoding even if the length of the body is known. It is known if all steps send a finite number
    /// of bytes or wait.
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Waits this long before the first byte of the head.
    pub fn delay(mut self, time: Duration) -> Self {
        self.delay = time;
        self
    }

    /// Sends all current bytes in pieces of this size, with a pause after each.
    pub fn drip(mut self, piece: usize, pause: Duration) -> Self {
        let piece = piece.max(1);
        let mut steps = Vec::new();
        for step in self.steps {
            let Step::Send(mut bytes) = step else {
                steps.push(step);
                continue;
            };
            while !bytes.is_empty() {
                let next = bytes.split_to(piece.min(bytes.len()));
                steps.extend([Step::Send(next), Step::Pause(pause)]);
            }
        }
        self.steps = steps;
        self
    }

    /// Returns the length of the body, if it is announced.
    pub(super) fn length(&self) -> Option<u64> {
        let mut names = self.headers.iter().map(|(name, _)| name);
        if self.chunked || names.any(|name| name.eq_ignore_ascii_case("content-length")) {
            return None;
        }
        let mut lengths = self.steps.iter().map(Step::length);
        lengths.try_fold(0_u64, |sum, length| sum.checked_add(length?))
    }
}

impl Step {
    /// Creates a step that sends text or bytes.
    pub fn send(bytes: impl Into<Bytes>) -> Self {
        Step::Send(bytes.into())
    }

    fn length(&self) -> Option<u64> {
        match self {
            Step::Send(bytes) => Some(bytes.len() as u64),
            Step::Repeat(bytes, times) => (bytes.len() as u64).checked_mul((*times)?),
            Step::Pause(_) => Some(0),
            Step::Hang | Step::Reset | Step::Close => None,
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(early) = &self.early {
            return write!(f, "Answer({early:?})");
        }
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Send(bytes) => write!(f, "Send({} bytes)", bytes.len()),
            Step::Repeat(bytes, times) => write!(f, "Repeat({} bytes, {times:?})", bytes.len()),
            Step::Pause(time) => write!(f, "Pause({time:?})"),
            Step::Hang => f.write_str("Hang"),
            Step::Reset => f.write_str("Reset"),
            Step::Close => f.write_str("Close"),
        }
    }
}
