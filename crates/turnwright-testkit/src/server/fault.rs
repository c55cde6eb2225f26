//! The table of what goes wrong with model servers.
//!
//! A [`Fault`] gives an [`Answer`] that behaves well up to some place, and then goes wrong. A test goes through all of
//! them:
//!
//! ```
//! use turnwright_testkit::server::{Server, fault};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! for (fault, place) in fault::table() {
//!     let server = Server::script([fault.answer(place)]).await?;
//!     // Your client asks `server.url()`. Where `fault.is_harmless()` it must read all of the reply; else it must fail in
//!     // time, say why, and run none of the calls.
//!     println!("{fault}, {place}");
//! }
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```
//!
//! The reply is streamed, whatever the request says: [`TEXT`], or a call of [`TOOL`] with [`ARGUMENTS`].
//!
//! # Which fault happens where
//!
//! Faults of the status and of the whole body stand in place of the reply, so they happen
//! [before its first byte](Where::BeforeFirstByte) only. Those of the connection, and those that can be the very first
//! frame, happen everywhere. Those of frames within a reply happen in its text and in a call's arguments only; where they
//! are of the whole stream (its line ends, its end) the place says what the stream holds. [`Fault::applies`] knows.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::answer::{Answer, Step};
use super::chat::{self, Reply};

/// What the reply says, where a fault is in its text.
pub const TEXT: &str = "The quick brown fox jumps over the lazy dog.";
/// The tool that the reply calls, where a fault is in its arguments.
pub const TOOL: &str = "get_weather";
/// The arguments of that call.
pub const ARGUMENTS: &str = r#"{"city":"Paris","days":3,"units":"celsius"}"#;
/// How many bytes of filling a huge frame or a huge body holds: 50 MiB.
pub const HUGE: u64 = 50 << 20;

/// Filling is sent in pieces of this size, so that 50 MiB are never held at once.
const PIECE: usize = 64 << 10;

/// Where a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Where {
    /// Before anything of the reply was sent. Faults of the connection come before the head of the response.
    BeforeFirstByte,
    /// In the middle of a reply of text.
    InText,
    /// In the middle of the arguments of a call.
    InArguments,
}

/// One table makes the faults, their names, and where they happen.
macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident $({ $field:ident: $type:ty = $value:expr })?, $name:literal, $places:ident, $harmless:literal;)+) => {
        /// Something that goes wrong with a model server.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[$doc])* $variant $({
                /// The value of the header, in seconds, where there is one.
                $field: $type
            })?,)+
        }

        impl Fault {
            /// Every fault, in the order of the table.
            pub const ALL: &[Fault] = &[$(Fault::$variant $({ $field: $value })?,)+];

            /// Its name, for the messages of a test.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Fault::$variant { .. } => $name,)+ }
            }

            /// Whether a client must read all of the reply in spite of it.
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
    /// Status 429, perhaps with `Retry-After`; 0 seconds in the table.
    TooManyRequests { retry_after: Option<u32> = Some(0) }, "429", Before, false;
    /// Status 500 with an error of the protocol.
    ServerError, "500", Before, false;
    /// Status 500 with 50 MiB of text.
    HugeErrorBody, "500 with a body of 50 MiB", Before, false;
    /// Status 302, to another path of the same server: `/elsewhere`.
    Redirect, "302", Before, false;
    /// Status 200 and a page of HTML.
    WrongContentType, "a page of HTML", Before, false;
    /// Status 200, the content type of a stream, and nothing in it.
    EmptyBody, "an empty body", Before, false;
    /// The connection is reset.
    Reset, "a reset", Everywhere, false;
    /// The connection is closed before the end of the body.
    Truncated, "a body that is cut off", Everywhere, false;
    /// Nothing more comes, and the connection stays.
    Silence, "silence", Everywhere, false;
    /// Half of a frame, then nothing more, and the connection stays.
    HalfFrame, "half a frame, then silence", Everywhere, false;
    /// A frame of 50 MiB: well formed, and the rest of the reply comes after it.
    HugeFrame, "a frame of 50 MiB", Everywhere, false;
    /// Comments, one after the other, without end and without a pause.
    EndlessComments, "endless comments", Everywhere, false;
    /// A frame that says that something went wrong, then the proper end of the stream.
    ErrorFrame, "an error in a frame", Everywhere, false;
    /// A frame that is not JSON, then the rest of the reply.
    NotJson, "a frame that is not JSON", Everywhere, false;
    /// Bytes that are not UTF-8 within a frame, then the rest of the reply.
    InvalidUtf8, "bytes that are not UTF-8", Within, false;
    /// The stream ends with `[DONE]`, and gave no finish reason.
    NoFinishReason, "no finish reason", Within, false;
    /// The stream ends without `[DONE]`.
    DoneMissing, "no [DONE]", Within, true;
    /// `[DONE]` comes twice.
    DoneTwice, "[DONE] twice", Within, true;
    /// Lines end with CR LF.
    CrLf, "lines end with CR LF", Within, true;
    /// Lines end with CR.
    Cr, "lines end with CR", Within, true;
    /// The stream begins with a byte order mark.
    ByteOrderMark, "a byte order mark", Within, true;
    /// No line end after `data: [DONE]`.
    NoLastBlankLine, "no blank line at the end", Within, true;
    /// A few bytes at a time.
    SlowDrip, "a slow drip", Within, true;
}

/// Every fault at every place where it can happen.
pub fn table() -> impl Iterator<Item = (Fault, Where)> {
    let all = Fault::ALL.iter();
    all.flat_map(|&fault| Where::ALL.iter().map(move |&place| (fault, place)))
        .filter(|(fault, place)| fault.applies(*place))
}

impl Where {
    /// Every place.
    pub const ALL: &[Where] = &[Where::BeforeFirstByte, Where::InText, Where::InArguments];

    /// Its name, for the messages of a test.
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
    /// Whether it can happen there.
    #[must_use]
    pub fn applies(self, place: Where) -> bool {
        match self.places() {
            Places::Everywhere => true,
            Places::Before => place == Where::BeforeFirstByte,
            Places::Within => place != Where::BeforeFirstByte,
        }
    }

    /// An answer that behaves well up to there, and then goes wrong. Where it does not apply it goes wrong where it can:
    /// in place of the reply, or in its text.
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
                // The last event is the one that gives it.
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
    /// How many events come before the fault.
    begun: usize,
    /// The delta of a further event, up to the text in it, and what comes after that.
    wrapper: (&'static str, &'static str),
}

impl Stream {
    fn new(place: Where) -> Self {
        let of_text = (r#"{"content":""#, r#""}"#);
        let of_arguments = (
            r#"{"tool_calls":[{"index":0,"function":{"arguments":""#,
            r#""}}]}"#,
        );
        // The role, the name of the call and some pieces: more than half of it comes after the fault.
        let (reply, begun, wrapper): (Reply, usize, _) = match place {
            Where::BeforeFirstByte => (chat::text(TEXT, 8), 0, of_text),
            Where::InText => (chat::text(TEXT, 8), 4, of_text),
            Where::InArguments => {
                let call = chat::calls([("call_1", TOOL, ARGUMENTS)]).pieces(8);
                (call, 5, of_arguments)
            }
        };
        Stream {
            events: reply.events(),
            begun,
            wrapper,
        }
    }

    fn halves(&self) -> (&[String], &[String]) {
        self.events.split_at(self.begun.min(self.events.len()))
    }

    /// The head, and what comes before the fault.
    fn begun(&self) -> Answer {
        framed(self.halves().0, "\n")
    }

    fn complete(&self, line_end: &str) -> Answer {
        let done = format!("data: [DONE]{line_end}{line_end}");
        framed(&self.events, line_end).body(done)
    }

    /// The whole reply, with a frame of these steps in the middle of it.
    fn with_frame(&self, frame: impl IntoIterator<Item = Step>) -> Answer {
        let rest = framed(self.halves().1, "\n").body(DONE).steps;
        self.begun().steps(frame).steps(rest)
    }

    /// The steps of a frame whose text is what that step sends.
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
        // Events are ASCII here: any byte is the end of a character.
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
