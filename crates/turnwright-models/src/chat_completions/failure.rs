//! Failed attempts, and whether to retry them.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use turnwright_core::{Error, ErrorCode, ErrorKind};

use super::adapter::Adapter;
use super::decode;
use super::quirks::Quirks;
use crate::http::Response;
use crate::retry::retry_after;

/// The maximum number of bytes of an error body.
const MAX_BODY: usize = 64 * 1024;

/// The maximum number of characters of a request id.
const MAX_ID: usize = 64;

/// The timeout for an error body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the code and the type of an error. Many servers name the cause only there.
fn names(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = body.get("error").filter(|error| error.is_object());
    let error = error.unwrap_or(&body);
    let name = |field: &&str| error.get(*field)?.as_str();
    let names: Vec<&str> = ["code", "type"].iter().filter_map(name).collect();
    names.join(" ")
}

/// An attempt that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether another attempt may succeed.
    pub(super) retryable: bool,
    /// The delay that the server asks for.
    pub(super) retry_after: Option<Duration>,
    /// The quirk that the error reveals. A request that respects it may succeed.
    pub(super) quirks: Quirks,
}

impl Failure {
    /// Creates a failure without a response, or in the middle of one.
    pub(super) fn interrupted(error: Error) -> Self {
        let retryable = match error.code() {
            ErrorCode::MODEL_UNREACHABLE
            | ErrorCode::MODEL_TIMEOUT
            | ErrorCode::MODEL_RESPONSE_INCOMPLETE => true,
            // A response that is too large or of another protocol would be the same again.
            ErrorCode::WIRE_ERROR | ErrorCode::MODEL_SERVER_ERROR => matches!(
                error.kind(),
                ErrorKind::Unavailable | ErrorKind::RateLimited | ErrorKind::Timeout
            ),
            _ => false,
        };
        Failure {
            error,
            retryable,
            retry_after: None,
            quirks: Quirks::default(),
        }
    }
}

impl Adapter {
    /// Reads a response with an error status.
    pub(super) async fn error_response(&self, mut response: Response) -> Failure {
        let status = response.status;
        let asked = retry_after(|name| response.header(name), SystemTime::now());
        let request_id = response.header("x-request-id").map(|id| self.plain_id(id));
        let mut body = Vec::new();
        let read = async {
            while body.len() < MAX_BODY
                && let Some(Ok(piece)) = response.body.next().await
            {
                body.extend_from_slice(&piece);
            }
        };
        // Partial bodies are enough.
        let _ = tokio::time::timeout(self.settings.idle_timeout.min(BODY_TIMEOUT), read).await;
        body.truncate(MAX_BODY);
        // Redact before truncating: a part of a key is secret too.
        let body = self.redacted(&String::from_utf8_lossy(&body)).into_bytes();
        let reason = self.redacted(&decode::error_message(&body));
        let names = names(&body);
        let about = |code: &str| reason.contains(code) || names.contains(code);
        let too_long = matches!(status, 400 | 413 | 422)
            && (about("context_length_exceeded")
                || about("exceed_context_size")
                || about("maximum context length"));
        let no_money = status == 429 && about("insufficient_quota");
        let code = match status {
            _ if too_long => ErrorCode::CONTEXT_WINDOW_EXCEEDED,
            408 | 504 => ErrorCode::MODEL_TIMEOUT,
            _ => ErrorCode::MODEL_SERVER_ERROR,
        };
        let (kind, hint) = match status {
            300..=399 => (
                ErrorKind::NotFound,
                "it redirects requests: set the base URL to the new address",
            ),
            _ if too_long => (
                ErrorKind::InvalidArguments,
                "add `.dispatch_input(compact(tokens))` to the runner, load less of the conversation (`.history(History::last(n))`), or show fewer tools",
            ),
            401 | 403 => (
                ErrorKind::Denied,
                "is the key right? Set it with `api_key`, or OPENAI_API_KEY for `from_env`",
            ),
            404 => (
                ErrorKind::NotFound,
                "is the base URL right (it usually ends in `/v1`), and does the model exist there?",
            ),
            429 if no_money => (ErrorKind::Denied, "the account's quota is used up"),
            429 => (
                ErrorKind::RateLimited,
                "send fewer requests, or allow more attempts with `retry`",
            ),
            408 | 504 => (ErrorKind::Timeout, "try again later"),
            400..=499 => (ErrorKind::InvalidArguments, ""),
            _ => (ErrorKind::Unavailable, ""),
        };
        let mut message = format!("the model server answered {status}");
        for (before, part) in [(": ", reason.as_str()), ("; ", hint)] {
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
            retryable: transient && !no_money,
            retry_after: asked,
            quirks: Quirks::from_error(status, &format!("{reason} {names}")),
        }
    }

    /// Returns text from the server without our secrets: some servers quote an invalid key.
    pub(super) fn redacted(&self, text: &str) -> String {
        self.redactor.text(text)
    }

    /// Returns a request id that is safe to log.
    fn plain_id(&self, id: &str) -> String {
        let plain: String = id.chars().filter(char::is_ascii_graphic).collect();
        self.redacted(&plain).chars().take(MAX_ID).collect()
    }
}
