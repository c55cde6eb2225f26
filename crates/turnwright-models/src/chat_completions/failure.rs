//! Why an attempt failed, and whether another may help.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use turnwright_core::{Error, ErrorCode, ErrorKind};

use super::builder::Adapter;
use super::decode;
use super::habits::Habit;
use crate::http::Response;
use crate::retry::retry_after;

/// The most of an error's body that is read.
const MOST_READ: usize = 64 * 1024;

/// The most of a request's id that is shown.
const MOST_OF_AN_ID: usize = 64;

/// The longest that it is read.
const LONGEST_READ: Duration = Duration::from_secs(10);

/// What a server calls the error, beside what it says of it: many say the cause there alone.
fn names(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = body.get("error").filter(|it| it.is_object());
    let error = error.unwrap_or(&body);
    let name = |field: &&str| error.get(*field)?.as_str();
    let names: Vec<&str> = ["code", "type"].iter().filter_map(name).collect();
    names.join(" ")
}

/// An attempt that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether another attempt may help.
    pub(super) again: bool,
    /// When, if the server said so.
    pub(super) after: Option<Duration>,
    /// What the refusal says of the server: asked in another way, it may answer.
    pub(super) habit: Option<Habit>,
}

impl Failure {
    /// Without an answer, or in the middle of one.
    pub(super) fn broken(error: Error) -> Self {
        let again = match error.code() {
            ErrorCode::ModelUnreachable
            | ErrorCode::ModelTimeout
            | ErrorCode::ResponseIncomplete => true,
            // What is too large or not of the protocol will be so again.
            ErrorCode::Wire | ErrorCode::ModelServer => matches!(
                error.kind(),
                ErrorKind::Unavailable | ErrorKind::RateLimited | ErrorKind::Timeout
            ),
            _ => false,
        };
        Failure {
            error,
            again,
            after: None,
            habit: None,
        }
    }
}

impl Adapter {
    /// What an answer with an error status says.
    pub(super) async fn refused(&self, mut response: Response) -> Failure {
        let status = response.status;
        let after = retry_after(|name| response.header(name), SystemTime::now());
        let request_id = response.header("x-request-id").map(|id| self.plain_id(id));
        let mut body = Vec::new();
        let read = async {
            while body.len() < MOST_READ
                && let Some(Ok(piece)) = response.body.next().await
            {
                body.extend_from_slice(&piece);
            }
        };
        // What came by then is enough.
        let _ = tokio::time::timeout(self.idle_timeout.min(LONGEST_READ), read).await;
        body.truncate(MOST_READ);
        // Before it is cut: half a key is one too.
        let body = self.scrubbed(&String::from_utf8_lossy(&body)).into_bytes();
        let said = self.scrubbed(&decode::error_message(&body));
        let names = names(&body);
        let about = |code: &str| said.contains(code) || names.contains(code);
        let too_long = about("context_length_exceeded")
            || about("exceed_context_size")
            || about("maximum context length");
        let no_money = status == 429 && about("insufficient_quota");
        let (code, kind, hint) = match status {
            300..=399 => (
                ErrorCode::ModelServer,
                ErrorKind::NotFound,
                "it sends requests elsewhere: set the base URL to where that is",
            ),
            400 | 413 | 422 if too_long => (
                ErrorCode::ContextWindow,
                ErrorKind::InvalidArguments,
                "load less of the conversation (`hydrate().last(n)`), or show fewer tools",
            ),
            401 | 403 => (
                ErrorCode::ModelServer,
                ErrorKind::Denied,
                "is the key right? Set it with `api_key`, or OPENAI_API_KEY for `from_env`",
            ),
            404 => (
                ErrorCode::ModelServer,
                ErrorKind::NotFound,
                "is the base URL right (it most often ends in `/v1`), and does the model exist there?",
            ),
            429 if no_money => (
                ErrorCode::ModelServer,
                ErrorKind::Denied,
                "the account has nothing left to spend",
            ),
            429 => (
                ErrorCode::ModelServer,
                ErrorKind::RateLimited,
                "ask less often, or allow more attempts with `retry`",
            ),
            408 | 504 => (
                ErrorCode::ModelTimeout,
                ErrorKind::Timeout,
                "try again later",
            ),
            400..=499 => (ErrorCode::ModelServer, ErrorKind::InvalidArguments, ""),
            _ => (ErrorCode::ModelServer, ErrorKind::Unavailable, ""),
        };
        let mut message = format!("the model server answered {status}");
        for (before, part) in [(": ", said.as_str()), ("; ", hint)] {
            if !part.is_empty() {
                message.push_str(before);
                message.push_str(part);
            }
        }
        if let Some(id) = request_id {
            message.push_str(&format!(" (request {id})"));
        }
        let transient = matches!(status, 408 | 409 | 425 | 429 | 500..=599);
        Failure {
            error: Error::new(code, message).with_kind(kind),
            again: transient && !no_money,
            after,
            habit: Habit::told_by(status, &format!("{said} {names}")),
        }
    }

    /// A text of the server's without anything that is secret here: some repeat the key that they refuse.
    pub(super) fn scrubbed(&self, text: &str) -> String {
        self.redactor.text(text)
    }

    /// An id that may be anything, as one that may stand in a log.
    fn plain_id(&self, id: &str) -> String {
        let plain: String = id.chars().filter(char::is_ascii_graphic).collect();
        self.scrubbed(&plain).chars().take(MOST_OF_AN_ID).collect()
    }
}
