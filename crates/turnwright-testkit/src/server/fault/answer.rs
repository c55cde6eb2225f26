//! The answer that goes wrong.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::stream::Stream;
use super::{Fault, FaultPosition, HUGE};
use crate::server::answer::{Answer, Step};
use crate::server::model::Protocol;

/// Filler is sent in pieces of this size, so that 50 MiB are never in memory at once.
const PIECE: usize = 64 << 10;

impl Fault {
    /// Returns an answer of this protocol that is correct up to this position and then goes wrong. If the fault does not
    /// apply there, it happens where it can: instead of the reply, or in its text.
    pub fn answer(self, protocol: Protocol, place: FaultPosition) -> Answer {
        let stream = Stream::new(protocol, place);
        let before = place == FaultPosition::BeforeFirstByte;
        match self {
            Fault::TooManyRequests { retry_after } => too_many_requests(protocol, retry_after),
            Fault::ServerError => server_error(protocol),
            Fault::Overloaded => overloaded(protocol),
            Fault::HugeErrorBody => Answer::status(500)
                .header("content-type", "text/plain")
                .step(filling()),
            Fault::Redirect => Answer::status(302).header("location", "/elsewhere"),
            Fault::WrongContentType => Answer::status(200)
                .header("content-type", "text/html")
                .body("<!doctype html><title>Sign in</title><p>Please sign in.</p>\n"),
            Fault::OtherProtocol => other_protocol(protocol, place),
            Fault::EmptyBody => protocol.stream(),
            Fault::Reset if before => Answer::reset(),
            Fault::Truncated if before => Answer::close(),
            Fault::Silence if before => Answer::hang(),
            Fault::Reset => stream.broken().step(Step::Reset),
            Fault::Truncated => stream.broken().step(Step::Close),
            Fault::Silence => stream.broken().step(Step::Hang),
            Fault::HalfFrame => stream.half_frame().step(Step::Hang),
            Fault::HugeFrame => stream.with_frame(stream.frame_with(filling())),
            Fault::EndlessComments => {
                let comments: &[u8] = match protocol {
                    Protocol::Ollama => b"              \n",
                    _ => b": still at it\n\n",
                };
                let comments = Bytes::from_static(comments);
                stream.begun().step(Step::Repeat(comments, None))
            }
            Fault::ErrorFrame => stream.error_frame(),
            Fault::FailedResponse => stream.failed_response(),
            Fault::NotJson => stream.with_frame([Step::send(stream.frame("{\"choices\": [oops"))]),
            Fault::InvalidUtf8 => {
                stream.with_frame(stream.frame_with(Step::send(&b"\xc3\x28\xff\xfe"[..])))
            }
            Fault::NoFinishReason => stream.without_finish(),
            Fault::DoneMissing => stream.without_done(),
            Fault::DoneTwice => {
                let done = stream.done();
                stream.complete(protocol.line_end()).steps(done)
            }
            Fault::CrLf => stream.complete("\r\n"),
            Fault::Cr => stream.complete("\r"),
            Fault::ByteOrderMark => {
                let mut answer = stream.complete(protocol.line_end());
                answer.steps.insert(0, Step::send("\u{feff}"));
                answer
            }
            Fault::NoLastBlankLine => stream.without_last_line_end(),
            Fault::SlowDrip => stream
                .complete(protocol.line_end())
                .drip(48, Duration::from_millis(1)),
        }
    }
}

fn filling() -> Step {
    let piece = Bytes::from(vec![b'x'; PIECE]);
    Step::Repeat(piece, Some(HUGE / PIECE as u64))
}

fn too_many_requests(protocol: Protocol, retry_after: Option<u32>) -> Answer {
    let kind = match protocol {
        Protocol::Anthropic => "rate_limit_error",
        _ => "requests",
    };
    let answer = protocol.error(429, kind, "Too many requests.");
    match retry_after {
        Some(seconds) => answer.header("retry-after", seconds.to_string()),
        None => answer,
    }
}

fn server_error(protocol: Protocol) -> Answer {
    let kind = match protocol {
        Protocol::Anthropic => "api_error",
        _ => "server_error",
    };
    protocol.error(500, kind, "The server had an error.")
}

fn overloaded(protocol: Protocol) -> Answer {
    match protocol {
        Protocol::Anthropic => protocol.error(529, "overloaded_error", "Overloaded"),
        Protocol::Gemini => {
            protocol.error(503, "", "The model is overloaded. Please try again later.")
        }
        Protocol::Ollama => protocol.error(
            503,
            "",
            "server busy, please try again.  maximum pending requests exceeded",
        ),
        _ => protocol.error(503, "server_error", "The engine is currently overloaded."),
    }
}

/// Returns a complete reply in the form of another protocol.
fn other_protocol(protocol: Protocol, place: FaultPosition) -> Answer {
    let other = match protocol {
        Protocol::ChatCompletions => Protocol::Anthropic,
        _ => Protocol::ChatCompletions,
    };
    Stream::new(other, place).complete(other.line_end())
}

/// Returns the data of an error within a stream, and the name of its event.
pub(super) fn error_in_stream(
    protocol: Protocol,
    sequence: usize,
) -> (Option<&'static str>, String) {
    let message = "The provider went away.";
    let data = match protocol {
        Protocol::ChatCompletions => json!({ "error": { "message": message, "code": 502 } }),
        Protocol::Responses => json!({
            "type": "error", "code": "server_error", "message": message, "param": null, "sequence_number": sequence,
        }),
        Protocol::Anthropic => {
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": message } })
        }
        Protocol::Gemini | Protocol::Ollama => protocol.error_body(503, "", message),
    };
    let named = matches!(protocol, Protocol::Anthropic | Protocol::Responses);
    (named.then_some("error"), data.to_string())
}
