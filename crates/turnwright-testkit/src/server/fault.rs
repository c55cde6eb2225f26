//! A table of faults of model servers.
//!
//! A [`Fault`] creates an [`Answer`] that is correct up to some position and then goes wrong. A test runs all of
//! them:
//!
//! ```
//! use turnwright_testkit::server::{Server, fault};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! for (fault, place) in fault::table() {
//!     let server = Server::script([fault.answer(place)]).await?;
//!     // Your client sends a request to `server.url()`. If `fault.is_harmless()`, it must read the complete
//!     // reply. Otherwise it must fail in time, report why, and run none of the calls.
//!     println!("{fault}, {place}");
//! }
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```
//!
//! The reply is streamed, whatever the request asks for: [`TEXT`], or a call of [`TOOL`] with [`ARGUMENTS`].
//!
//! # Where faults can happen
//!
//! Faults of the status and of the complete body replace the reply, so they happen only [before its first
//! byte](Where::BeforeFirstByte). Connection faults, and faults that can be the very first frame, happen everywhere.
//! Faults of frames within a reply happen only in its text and in a call's arguments. If they concern the complete
//! stream (its line endings, its end), the position selects what the stream contains. See [`Fault::applies`].

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::answer::{Answer, Step};
use super::model::{self, Asked, Protocol, Reply};

/// The text of the reply, for faults in text.
pub const TEXT: &str = "The quick brown fox jumps over the lazy dog.";
/// The tool that the reply calls, for faults in arguments.
pub const TOOL: &str = "get_weather";
/// The arguments of that call.
pub const ARGUMENTS: &str = r#"{"city":"Paris","days":3,"units":"celsius"}"#;
/// The number of filler bytes in a huge frame or body: 50 MiB.
pub const HUGE: u64 = 50 << 20;

/// Filler is sent in pieces of this size, so that 50 MiB are never in memory at once.
const PIECE: usize = 64 << 10;

/// The position of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Where {
    /// Before anything of the reply was sent. Connection faults come before the head of the response.
    BeforeFirstByte,
    /// In the middle of a text reply.
    InText,
    /// In the middle of the arguments of a call.
    InArguments,
}

/// Defines the faults, their names, and where they happen.
macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident $({ $field:ident: $type:ty = $value:expr })?, $name:literal, $places:ident, $harmless:literal;)+) => {
        /// A fault of a model server.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[$doc])* $variant $({
                /// The value of the header in seconds, if it is sent.
                $field: $type
            })?,)+
        }

        impl Fault {
            /// All faults, in the order of the table.
            pub const ALL: &[Fault] = &[$(Fault::$variant $({ $field: $value })?,)+];

            /// Returns the name, for messages of a test.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Fault::$variant { .. } => $name,)+ }
            }

            /// Returns `true` if a client must read the complete reply in spite of it.
            #[must_use]
            pub const fn is_harmless(self) -> bool {
                match self { $(Fault::$variant { .. } => $harmless,)+ }
            }

            const fn places(self) -> Places {
                match self { $(Fault::$variant { .. } => Places::$places,)+ }
            }
        }
    };
}

/// Where a fault can happen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    Before,
    Within,
    Everywhere,
}

faults! {
    /// Status 429, optionally with `Retry-After`; 0 seconds in the table.
    TooManyRequests { retry_after: Option<u32> = Some(0) }, "429", Before, false;
    /// Status 500 with an error of the protocol.
    ServerError, "500", Before, false;
    /// Status 500 with 50 MiB of text.
    HugeErrorBody, "500 with a body of 50 MiB", Before, false;
    /// Status 302, to another path of the same server: `/elsewhere`.
    Redirect, "302", Before, false;
    /// Status 200 with an HTML page.
    WrongContentType, "a page of HTML", Before, false;
    /// Status 200 with the content type of a stream, and an empty body.
    EmptyBody, "an empty body", Before, false;
    /// The connection is reset.
    Reset, "a reset", Everywhere, false;
    /// The connection is closed before the end of the body.
    Truncated, "a body that is cut off", Everywhere, false;
    /// Nothing more is sent, and the connection stays open.
    Silence, "silence", Everywhere, false;
    /// Half of a frame, then nothing more, and the connection stays open.
    HalfFrame, "half a frame, then silence", Everywhere, false;
    /// A frame of 50 MiB: well formed, and followed by the rest of the reply.
    HugeFrame, "a frame of 50 MiB", Everywhere, false;
    /// Comments, one after the other, without end and without a pause.
    EndlessComments, "endless comments", Everywhere, false;
    /// A frame that reports an error, then the proper end of the stream.
    ErrorFrame, "an error in a frame", Everywhere, false;
    /// A frame that is not JSON, then the rest of the reply.
    NotJson, "a frame that is not JSON", Everywhere, false;
    /// Bytes that are not UTF-8 within a frame, then the rest of the reply.
    InvalidUtf8, "bytes that are not UTF-8", Within, false;
    /// The stream ends with `[DONE]`, but has no finish reason.
    NoFinishReason, "no finish reason", Within, false;
    /// The stream ends without `[DONE]`.
    DoneMissing, "no [DONE]", Within, true;
    /// `[DONE]` comes twice.
    DoneTwice, "[DONE] twice", Within, true;
    /// Lines end with CR LF.
    CrLf, "lines end with CR LF", Within, true;
    /// Lines end with CR.
    Cr, "lines end with CR", Within, true;
    /// The stream starts with a byte order mark.
    ByteOrderMark, "a byte order mark", Within, true;
    /// No line ending after `data: [DONE]`.
    NoLastBlankLine, "no blank line at the end", Within, true;
    /// A few bytes at a time.
    SlowDrip, "a slow drip", Within, true;
}

/// Returns every fault at every position where it can happen.
pub fn table() -> impl Iterator<Item = (Fault, Where)> {
    let all = Fault::ALL.iter();
    all.flat_map(|&fault| Where::ALL.iter().map(move |&place| (fault, place)))
        .filter(|(fault, place)| fault.applies(*place))
}

impl Where {
    /// All positions.
    pub const ALL: &[Where] = &[Where::BeforeFirstByte, Where::InText, Where::InArguments];

    /// Returns the name, for messages of a test.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Where::BeforeFirstByte => "before the first byte",
            Where::InText => "in text",
            Where::InArguments => "in arguments",
        }
    }
}

impl Fault {
    /// Returns `true` if the fault can happen there.
    #[must_use]
    pub fn applies(self, place: Where) -> bool {
        match self.places() {
            Places::Everywhere => true,
            Places::Before => place == Where::BeforeFirstByte,
            Places::Within => place != Where::BeforeFirstByte,
        }
    }

    /// Returns an answer that is correct up to this position and then goes wrong. If the fault does not apply there,
    /// it happens where it can: instead of the reply, or in its text.
    pub fn answer(self, place: Where) -> Answer {
        let stream = Stream::new(place);
        let before = place == Where::BeforeFirstByte;
        match self {
            Fault::TooManyRequests { retry_after } => too_many_requests(retry_after),
            Fault::ServerError => error(500, "The server had an error."),
            Fault::HugeErrorBody => Answer::status(500)
                .header("content-type", "text/plain")
                .step(filling()),
            Fault::Redirect => Answer::status(302).header("location", "/elsewhere"),
            Fault::WrongContentType => Answer::status(200)
                .header("content-type", "text/html")
                .body("<!doctype html><title>Sign in</title><p>Please sign in.</p>\n"),
            Fault::EmptyBody => Answer::event_stream(),
            Fault::Reset if before => Answer::reset(),
            Fault::Truncated if before => Answer::close(),
            Fault::Silence if before => Answer::hang(),
            Fault::Reset => stream.begun().step(Step::Reset),
            Fault::Truncated => stream.begun().step(Step::Close),
            Fault::Silence => stream.begun().step(Step::Hang),
            Fault::HalfFrame => stream.half_frame(),
            Fault::HugeFrame => stream.with_frame(stream.frame_with(filling())),
            Fault::EndlessComments => {
                let comments = Bytes::from_static(b": still at it\n\n");
                stream.begun().step(Step::Repeat(comments, None))
            }
            Fault::ErrorFrame => {
                let error = json!({ "message": "The provider went away.", "code": 502 });
                let error = json!({ "error": error });
                stream.begun().body(format!("data: {error}\n\n{DONE}"))
            }
            Fault::NotJson => stream.with_frame([Step::send("data: {\"choices\": [oops\n\n")]),
            Fault::InvalidUtf8 => {
                stream.with_frame(stream.frame_with(Step::send(&b"\xc3\x28\xff\xfe"[..])))
            }
            Fault::NoFinishReason => {
                // The last event has the finish reason.
                let events = stream.events.split_last().map_or(&[][..], |(_, rest)| rest);
                framed(events, "\n").body(DONE)
            }
            Fault::DoneMissing => framed(&stream.events, "\n"),
            Fault::DoneTwice => stream.complete("\n").body(DONE),
            Fault::CrLf => stream.complete("\r\n"),
            Fault::Cr => stream.complete("\r"),
            Fault::ByteOrderMark => {
                let mut answer = stream.complete("\n");
                answer.steps.insert(0, Step::send("\u{feff}"));
                answer
            }
            Fault::NoLastBlankLine => framed(&stream.events, "\n").body("data: [DONE]"),
            Fault::SlowDrip => stream.complete("\n").drip(48, Duration::from_millis(1)),
        }
    }
}

const DONE: &str = "data: [DONE]\n\n";

/// The reply that goes wrong.
struct Stream {
    events: Vec<String>,
    /// The number of events before the fault.
    begun: usize,
    /// The delta of a further event: the part before its text, and the part after it.
    wrapper: (&'static str, &'static str),
}

impl Stream {
    fn new(place: Where) -> Self {
        let of_text = (r#"{"content":""#, r#""}"#);
        let of_arguments = (
            r#"{"tool_calls":[{"index":0,"function":{"arguments":""#,
            r#""}}]}"#,
        );
        // The role, the name of the call and some pieces: more than half of the reply comes after the fault.
        let (reply, begun, wrapper): (Reply, usize, _) = match place {
            Where::BeforeFirstByte => (model::text(TEXT, 8), 0, of_text),
            Where::InText => (model::text(TEXT, 8), 4, of_text),
            Where::InArguments => {
                let call = model::calls([("call_1", TOOL, ARGUMENTS)]).pieces(8);
                (call, 5, of_arguments)
            }
        };
        Stream {
            events: reply
                .events(&Asked::streamed(Protocol::ChatCompletions))
                .into_iter()
                .map(|event| event.data.to_string())
                .collect(),
            begun,
            wrapper,
        }
    }

    fn halves(&self) -> (&[String], &[String]) {
        self.events.split_at(self.begun.min(self.events.len()))
    }

    /// Returns the head, and everything before the fault.
    fn begun(&self) -> Answer {
        framed(self.halves().0, "\n")
    }

    fn complete(&self, line_end: &str) -> Answer {
        let done = format!("data: [DONE]{line_end}{line_end}");
        framed(&self.events, line_end).body(done)
    }

    /// Returns the complete reply, with a frame of these steps in the middle.
    fn with_frame(&self, frame: impl IntoIterator<Item = Step>) -> Answer {
        let rest = framed(self.halves().1, "\n").body(DONE).steps;
        self.begun().steps(frame).steps(rest)
    }

    /// Returns the steps of a frame whose text is sent by `filling`.
    fn frame_with(&self, filling: Step) -> [Step; 3] {
        let (before, after) = self.wrapper;
        let head = r#"data: {"id":"chatcmpl-0","object":"chat.completion.chunk","choices":[{"index":0,"delta":"#;
        let tail = r#","finish_reason":null}]}"#;
        [
            Step::send(format!("{head}{before}")),
            filling,
            Step::send(format!("{after}{tail}\n\n")),
        ]
    }

    fn half_frame(&self) -> Answer {
        let next = self.halves().1.first().map_or("", String::as_str);
        // Events are ASCII here, so any byte is a character boundary.
        let half: String = next.chars().take(next.len() / 2).collect();
        let frame = Step::send(format!("data: {half}"));
        self.begun().step(frame).step(Step::Hang)
    }
}

fn framed(events: &[String], line_end: &str) -> Answer {
    let frames = events.iter();
    let frames = frames.map(|event| Step::send(format!("data: {event}{line_end}{line_end}")));
    Answer::event_stream().steps(frames)
}

fn filling() -> Step {
    let piece = Bytes::from(vec![b'x'; PIECE]);
    Step::Repeat(piece, Some(HUGE / PIECE as u64))
}

fn too_many_requests(retry_after: Option<u32>) -> Answer {
    let answer = error(429, "Too many requests.");
    match retry_after {
        Some(seconds) => answer.header("retry-after", seconds.to_string()),
        None => answer,
    }
}

fn error(status: u16, message: &str) -> Answer {
    let error = json!({ "message": message, "type": "server_error", "code": null });
    Answer::json(status, json!({ "error": error }))
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
