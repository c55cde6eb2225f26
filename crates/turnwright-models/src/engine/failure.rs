//! Failed attempts, and whether to retry them.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use turnwright_core::{Error, ErrorCode, ErrorKind};

use super::codec::{ErrorBody, ErrorClass, Quirks};
use super::server::Server;
use crate::decode;
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
    let names: Vec<&str> = ["code", "type", "status"].iter().filter_map(name).collect();
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

impl Server {
    /// Reads a response with an error status.
    pub(super) async fn error_response(&self, mut response: Response) -> Failure {
        let status = response.status;
        let asked = retry_after(|name| response.header(name), SystemTime::now());
        let request_id = request_id(&response).map(|id| self.plain_id(id));
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
        let error = ErrorBody {
            status,
            message: &reason,
            names: &names,
        };
        let (is_overflow, is_quota) = (error.is_overflow(), error.is_quota());
        let ErrorClass {
            is_wrong_key,
            quirks,
            advice,
        } = self.codec.classify(&error);
        let is_wrong_key = is_wrong_key || matches!(status, 401 | 403);
        let code = match status {
            _ if is_overflow => ErrorCode::CONTEXT_WINDOW_EXCEEDED,
            408 | 504 => ErrorCode::MODEL_TIMEOUT,
            _ => ErrorCode::MODEL_SERVER_ERROR,
        };
        let info = self.codec.info();
        let key_hint = match info.environment.keys.first() {
            Some(variable) => format!("is the key right? Set it with `api_key` or {variable}"),
            None => "does the server need a key? Set it with `api_key`".to_owned(),
        };
        let base_url_hint = format!(
            "is the base URL right (it is usually like {}), and does the model exist there?",
            info.base_url
        );
        let (kind, hint) = match status {
            300..=399 => (
                ErrorKind::NotFound,
                "it redirects requests: set the base URL to the new address",
            ),
            _ if is_overflow => (
                ErrorKind::InvalidArguments,
                "add `.dispatch_input(compact(tokens))` to the runner, load less of the conversation (`.history(History::last(n))`), or show fewer tools",
            ),
            _ if is_wrong_key => (ErrorKind::Denied, key_hint.as_str()),
            404 => (ErrorKind::NotFound, base_url_hint.as_str()),
            429 if is_quota => (ErrorKind::Denied, "the account's quota is used up"),
            429 => (
                ErrorKind::RateLimited,
                "send fewer requests, or allow more attempts with `retry`",
            ),
            408 | 504 => (ErrorKind::Timeout, "try again later"),
            400..=499 => (ErrorKind::InvalidArguments, ""),
            _ => (ErrorKind::Unavailable, ""),
        };
        let hint = advice.as_deref().unwrap_or(hint);
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
            retryable: transient && !is_quota,
            retry_after: asked,
            quirks,
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

/// Returns the id under which the provider knows the request.
fn request_id(response: &Response) -> Option<&str> {
    let names = ["x-request-id", "request-id"];
    names.iter().find_map(|name| response.header(name))
}
