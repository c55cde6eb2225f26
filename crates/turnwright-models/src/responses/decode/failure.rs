//! Errors that a server reports in a response with a success status.

use serde_json::Value;
use turnwright_core::{Error, ErrorCode, ErrorKind};

use crate::decode::reported;

/// Returns the error that an event or a body reports.
pub(super) fn failure(text: &str) -> Error {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let of_response = value
        .get("response")
        .and_then(|response| response.get("error"));
    let is_error = |error: &&Value| !error.is_null();
    let error = of_response
        .filter(is_error)
        .or_else(|| value.get("error").filter(is_error));
    let code = |value: &Value| Some(value.get("code")?.as_str()?.to_owned());
    let code = error
        .and_then(code)
        .or_else(|| code(&value))
        .unwrap_or_default();
    let error = match of_response.filter(is_error) {
        Some(error) => reported(&error.to_string()),
        None => reported(text),
    };
    match code.as_str() {
        "context_length_exceeded" => Error::new(
            ErrorCode::CONTEXT_WINDOW_EXCEEDED,
            error.message().to_owned(),
        ),
        "rate_limit_exceeded" | "rate_limit_error" | "slow_down" => {
            error.with_kind(ErrorKind::RateLimited)
        }
        "server_error"
        | "internal_error"
        | "internal_server_error"
        | "api_error"
        | "overloaded_error"
        | "server_is_overloaded"
        | "service_unavailable"
        | "vector_store_timeout" => error.with_kind(ErrorKind::Unavailable),
        "insufficient_quota" => error.with_kind(ErrorKind::Denied),
        _ => error,
    }
}
