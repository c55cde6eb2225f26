//! A table of faults of model servers.
//!
//! A [`Fault`] creates an [`Answer`](super::Answer) that is correct up to some position and then goes wrong. A test runs all of
//! them:
//!
//! ```
//! use turnwright_testkit::server::model::Protocol;
//! use turnwright_testkit::server::{Server, fault};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let protocol = Protocol::Anthropic;
//! for (fault, place) in fault::table(protocol) {
//!     let server = Server::script([fault.answer(protocol, place)]).await?;
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
//! byte](FaultPosition::BeforeFirstByte). Connection faults, and faults that can be the very first frame, happen everywhere.
//! Faults of frames within a reply happen only in its text and in a call's arguments. If they concern the complete
//! stream (its line endings, its end), the position selects what the stream contains. Some faults exist only in some
//! protocols. See [`Fault::applies`].
//!
//! Gemini and Ollama send the arguments of a call in one frame. There a fault in arguments comes in the middle of that
//! frame if it breaks the connection, and otherwise before it.

mod answer;
mod stream;

use std::fmt;

use super::model::Protocol;

/// The text of the reply, for faults in text.
pub const TEXT: &str = "The quick brown fox jumps over the lazy dog.";
/// The tool that the reply calls, for faults in arguments.
pub const TOOL: &str = "get_weather";
/// The arguments of that call.
pub const ARGUMENTS: &str = r#"{"city":"Paris","days":3,"units":"celsius"}"#;
/// The number of filler bytes in a huge frame or body: 50 MiB.
pub const HUGE: u64 = 50 << 20;

/// The position of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultPosition {
    /// Before anything of the reply was sent. Connection faults come before the head of the response.
    BeforeFirstByte,
    /// In the middle of a text reply.
    InText,
    /// In the middle of the arguments of a call.
    InArguments,
}

/// Defines the faults, their names, and where they happen.
macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident $({ $field:ident: $type:ty = $value:expr })?, $name:literal, $places:ident, $protocols:ident, $harmless:literal;)+) => {
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

            const fn protocols(self) -> Protocols {
                match self { $(Fault::$variant { .. } => Protocols::$protocols,)+ }
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

/// In which protocols a fault can happen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocols {
    All,
    /// Those with server-sent events.
    Events,
    /// Those whose last frame has nothing that a client needs.
    IdleEnd,
    ChatCompletions,
    Responses,
}

faults! {
    /// Status 429, optionally with `Retry-After`; 0 seconds in the table.
    TooManyRequests { retry_after: Option<u32> = Some(0) }, "429", Before, All, false;
    /// Status 500 with an error of the protocol.
    ServerError, "500", Before, All, false;
    /// Too much load: status 529 in Anthropic, otherwise 503.
    Overloaded, "an overloaded server", Before, All, false;
    /// Status 500 with 50 MiB of text.
    HugeErrorBody, "500 with a body of 50 MiB", Before, All, false;
    /// Status 302, to another path of the same server: `/elsewhere`.
    Redirect, "302", Before, All, false;
    /// Status 200 with an HTML page.
    WrongContentType, "a page of HTML", Before, All, false;
    /// Status 200 with a complete stream of another protocol.
    OtherProtocol, "another protocol", Before, All, false;
    /// Status 200 with the content type of a stream, and an empty body.
    EmptyBody, "an empty body", Before, All, false;
    /// The connection is reset.
    Reset, "a reset", Everywhere, All, false;
    /// The connection is closed before the end of the body.
    Truncated, "a body that is cut off", Everywhere, All, false;
    /// Nothing more is sent, and the connection stays open.
    Silence, "silence", Everywhere, All, false;
    /// Half of a frame, then nothing more, and the connection stays open.
    HalfFrame, "half a frame, then silence", Everywhere, All, false;
    /// A frame of 50 MiB: well formed, and followed by the rest of the reply.
    HugeFrame, "a frame of 50 MiB", Everywhere, All, false;
    /// Comments (in Ollama: blank lines), one after the other, without end and without a pause.
    EndlessComments, "endless comments", Everywhere, All, false;
    /// A frame that reports an error, then the proper end of the stream: `event: error` in Anthropic and Responses, an
    /// object with `error` in the others.
    ErrorFrame, "an error in a frame", Everywhere, All, false;
    /// The stream ends with `response.failed`.
    FailedResponse, "a failed response", Everywhere, Responses, false;
    /// A frame that is not JSON, then the rest of the reply.
    NotJson, "a frame that is not JSON", Everywhere, All, false;
    /// Bytes that are not UTF-8 within a frame, then the rest of the reply.
    InvalidUtf8, "bytes that are not UTF-8", Within, All, false;
    /// The stream ends properly, but has no finish reason.
    NoFinishReason, "no finish reason", Within, All, false;
    /// The stream ends without `[DONE]`.
    DoneMissing, "no [DONE]", Within, ChatCompletions, true;
    /// `[DONE]` comes twice.
    DoneTwice, "[DONE] twice", Within, ChatCompletions, true;
    /// Lines end with CR LF.
    CrLf, "lines end with CR LF", Within, All, true;
    /// Lines end with CR.
    Cr, "lines end with CR", Within, Events, true;
    /// The stream starts with a byte order mark.
    ByteOrderMark, "a byte order mark", Within, Events, true;
    /// No line ending after the last frame, which has nothing that a client needs, or is a line of its own.
    NoLastBlankLine, "no blank line at the end", Within, IdleEnd, true;
    /// A few bytes at a time.
    SlowDrip, "a slow drip", Within, All, true;
}

/// Returns every fault of a protocol at every position where it can happen.
pub fn table(protocol: Protocol) -> impl Iterator<Item = (Fault, FaultPosition)> {
    let all = Fault::ALL.iter();
    all.flat_map(|&fault| FaultPosition::ALL.iter().map(move |&place| (fault, place)))
        .filter(move |(fault, place)| fault.applies(protocol, *place))
}

impl FaultPosition {
    /// All positions.
    pub const ALL: &[FaultPosition] = &[
        FaultPosition::BeforeFirstByte,
        FaultPosition::InText,
        FaultPosition::InArguments,
    ];

    /// Returns the name, for messages of a test.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FaultPosition::BeforeFirstByte => "before the first byte",
            FaultPosition::InText => "in text",
            FaultPosition::InArguments => "in arguments",
        }
    }
}

impl Fault {
    /// Returns `true` if the fault can happen there in this protocol.
    #[must_use]
    pub fn applies(self, protocol: Protocol, place: FaultPosition) -> bool {
        let of_protocol = match self.protocols() {
            Protocols::All => true,
            Protocols::Events => protocol != Protocol::Ollama,
            Protocols::IdleEnd => !matches!(protocol, Protocol::Responses | Protocol::Gemini),
            Protocols::ChatCompletions => protocol == Protocol::ChatCompletions,
            Protocols::Responses => protocol == Protocol::Responses,
        };
        of_protocol
            && match self.places() {
                Places::Everywhere => true,
                Places::Before => place == FaultPosition::BeforeFirstByte,
                Places::Within => place != FaultPosition::BeforeFirstByte,
            }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for FaultPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
