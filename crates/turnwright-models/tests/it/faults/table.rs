//! The expected result of each fault at each position.

use turnwright_core::ErrorCode;
use turnwright_testkit::server::fault::Fault::*;
use turnwright_testkit::server::fault::FaultPosition::{
    BeforeFirstByte as Before, InArguments as InArgs, InText,
};
use turnwright_testkit::server::fault::{Fault, FaultPosition};
use turnwright_testkit::server::model::Protocol;

use super::Ends::{Answered, Failed, Nacked};
use super::Held::{Answer, Made, Nothing, Piece, Unmade, Words};
use super::Once::{Mended, Reported, Same};
use super::{Ends, Held, Once, Row, rig};

/// Returns the table of a protocol: that of Chat Completions without the faults that the protocol does not have, and
/// with its differences.
pub(super) fn rows(protocol: Protocol) -> Vec<Row> {
    let rows = TABLE
        .iter()
        .filter(|row| row.fault.applies(protocol, row.place));
    rows.map(|row| differing(Row { protocol, ..*row }))
        .collect()
}

/// Changes what a protocol does differently.
fn differing(mut row: Row) -> Row {
    let whole = matches!(row.protocol, Protocol::Gemini | Protocol::Ollama);
    // The arguments of a call come in one frame, so there is never a part of them.
    if whole && matches!(row.held, Piece) {
        row.held = Nothing;
    }
    match (row.protocol, row.fault, row.place) {
        // Its own status.
        (Protocol::Anthropic, Overloaded, _) => row.says = "529",
        // `[DONE]` and `message_stop` mark an end without a reason. The other protocols have no such mark: what ends
        // without a reason was cut off, and is requested again.
        (Protocol::ChatCompletions | Protocol::Anthropic, NoFinishReason, _) => {}
        (_, NoFinishReason, place) => {
            row.requests = 3;
            row.ends = Failed(ErrorCode::MODEL_RESPONSE_INCOMPLETE);
            row.says = "before it was complete";
            row.held = match place {
                InText => Answer,
                _ => Unmade(1),
            };
            row.once = Mended;
        }
        _ => {}
    }
    row
}

/// The size of a reply.
const REPLY: u64 = 16 << 10;
/// The part of an error body that is read, and the piece that exceeded the limit.
const ERROR: u64 = 1 << 20;
/// The maximum event size, and the piece that exceeded it.
const FRAME: u64 = 9 << 20;

/// The same for comments.
const COMMENTS: u64 = rig::COMMENTS as u64 + (1 << 20);

const LIMIT: &str = "8388608 bytes";
const LESS: &str = "262144 bytes";
const BASE_URL: &str = "base URL";
const BROKE: &str = "the connection to the model server at 127.0.0.1:";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // fault, position, requests, how it ends, text in the error, records in the store, bytes; result if it happens
    // once
    row(TooManyRequests { retry_after: Some(0) }, Before, 3, Failed(ErrorCode::MODEL_SERVER_ERROR), "429", Nothing, REPLY, Mended),
    row(ServerError,      Before, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "500",            Nothing,   REPLY, Mended),
    row(Overloaded,       Before, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "503",            Nothing,   REPLY, Mended),
    row(HugeErrorBody,    Before, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "500",            Nothing,   ERROR, Mended),
    row(Redirect,         Before, 1, Failed(ErrorCode::MODEL_SERVER_ERROR),       BASE_URL,         Nothing,   REPLY, Same),
    row(WrongContentType, Before, 1, Failed(ErrorCode::WIRE_ERROR),               BASE_URL,         Nothing,   REPLY, Same),
    row(OtherProtocol,    Before, 1, Failed(ErrorCode::WIRE_ERROR),               "this looks like", Nothing,  REPLY, Same),
    row(EmptyBody,        Before, 3, Failed(ErrorCode::WIRE_ERROR),               "empty",          Nothing,   REPLY, Mended),
    row(Reset,            Before, 3, Failed(ErrorCode::MODEL_UNREACHABLE),   BROKE,            Nothing,   REPLY, Mended),
    row(Reset,            InText, 3, Failed(ErrorCode::MODEL_UNREACHABLE),   BROKE,            Words,     REPLY, Mended),
    row(Reset,            InArgs, 3, Failed(ErrorCode::MODEL_UNREACHABLE),   BROKE,            Piece,     REPLY, Mended),
    row(Truncated,        Before, 3, Failed(ErrorCode::MODEL_UNREACHABLE),   BROKE,            Nothing,   REPLY, Mended),
    row(Truncated,        InText, 3, Failed(ErrorCode::MODEL_UNREACHABLE),   BROKE,            Words,     REPLY, Mended),
    row(Truncated,        InArgs, 3, Failed(ErrorCode::MODEL_UNREACHABLE),   BROKE,            Piece,     REPLY, Mended),
    row(Silence,          Before, 3, Failed(ErrorCode::MODEL_TIMEOUT),       "request_timeout", Nothing,  REPLY, Mended),
    row(Silence,          InText, 3, Failed(ErrorCode::MODEL_TIMEOUT),       "idle_timeout",   Words,     REPLY, Mended),
    row(Silence,          InArgs, 3, Failed(ErrorCode::MODEL_TIMEOUT),       "idle_timeout",   Piece,     REPLY, Mended),
    row(HalfFrame,        Before, 3, Failed(ErrorCode::MODEL_TIMEOUT),       "idle_timeout",   Nothing,   REPLY, Mended),
    row(HalfFrame,        InText, 3, Failed(ErrorCode::MODEL_TIMEOUT),       "idle_timeout",   Words,     REPLY, Mended),
    row(HalfFrame,        InArgs, 3, Failed(ErrorCode::MODEL_TIMEOUT),       "idle_timeout",   Piece,     REPLY, Mended),
    row(HugeFrame,        Before, 1, Failed(ErrorCode::WIRE_ERROR),               LIMIT,            Nothing,   FRAME, Same),
    row(HugeFrame,        InText, 1, Failed(ErrorCode::WIRE_ERROR),               LIMIT,            Words,     FRAME, Same),
    row(HugeFrame,        InArgs, 1, Failed(ErrorCode::WIRE_ERROR),               LIMIT,            Piece,     FRAME, Same),
    row(EndlessComments,  Before, 1, Failed(ErrorCode::WIRE_ERROR),               LESS,             Nothing,   COMMENTS, Same),
    row(EndlessComments,  InText, 1, Failed(ErrorCode::WIRE_ERROR),               LESS,             Words,     COMMENTS, Same),
    row(EndlessComments,  InArgs, 1, Failed(ErrorCode::WIRE_ERROR),               LESS,             Piece,     COMMENTS, Same),
    row(ErrorFrame,       Before, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "provider went away", Nothing, REPLY, Mended),
    row(ErrorFrame,       InText, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "provider went away", Words, REPLY, Mended),
    row(ErrorFrame,       InArgs, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "provider went away", Piece, REPLY, Mended),
    row(FailedResponse,   Before, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "provider went away", Nothing, REPLY, Mended),
    row(FailedResponse,   InText, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "provider went away", Words, REPLY, Mended),
    row(FailedResponse,   InArgs, 3, Failed(ErrorCode::MODEL_SERVER_ERROR),       "provider went away", Piece, REPLY, Mended),
    row(NotJson,          Before, 3, Failed(ErrorCode::WIRE_ERROR),               "[oops",          Nothing,   REPLY, Mended),
    row(NotJson,          InText, 3, Failed(ErrorCode::WIRE_ERROR),               "[oops",          Words,     REPLY, Mended),
    row(NotJson,          InArgs, 3, Failed(ErrorCode::WIRE_ERROR),               "[oops",          Piece,     REPLY, Mended),
    row(InvalidUtf8,      InText, 3, Failed(ErrorCode::WIRE_ERROR),               "UTF-8",          Words,     REPLY, Mended),
    row(InvalidUtf8,      InArgs, 3, Failed(ErrorCode::WIRE_ERROR),               "UTF-8",          Piece,     REPLY, Mended),
    // A mark ends the stream, so text is complete. A call is not run, and this is reported to the model, three times.
    row(NoFinishReason,   InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(NoFinishReason,   InArgs, 3, Nacked(ErrorCode::MODEL_RESPONSE_INCOMPLETE), "before it was complete", Unmade(3), REPLY, Reported),
    row(DoneMissing,      InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(DoneMissing,      InArgs, 2, Answered,                   "",               Made,      REPLY, Same),
    row(DoneTwice,        InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(DoneTwice,        InArgs, 2, Answered,                   "",               Made,      REPLY, Same),
    row(CrLf,             InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(CrLf,             InArgs, 2, Answered,                   "",               Made,      REPLY, Same),
    row(Cr,               InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(Cr,               InArgs, 2, Answered,                   "",               Made,      REPLY, Same),
    row(ByteOrderMark,    InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(ByteOrderMark,    InArgs, 2, Answered,                   "",               Made,      REPLY, Same),
    row(NoLastBlankLine,  InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(NoLastBlankLine,  InArgs, 2, Answered,                   "",               Made,      REPLY, Same),
    row(SlowDrip,         InText, 1, Answered,                   "",               Answer,    REPLY, Same),
    row(SlowDrip,         InArgs, 2, Answered,                   "",               Made,      REPLY, Same),
];

#[expect(clippy::too_many_arguments, reason = "the columns of the table")]
const fn row(
    fault: Fault,
    place: FaultPosition,
    requests: usize,
    ends: Ends,
    says: &'static str,
    held: Held,
    most: u64,
    once: Once,
) -> Row {
    Row {
        protocol: Protocol::ChatCompletions,
        fault,
        place,
        requests,
        ends,
        says,
        held,
        most,
        once,
    }
}
