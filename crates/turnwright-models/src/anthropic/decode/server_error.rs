//! Errors inside a response with a success status.

use serde_json::Value;
use turnwright_core::{Error, ErrorKind};

use crate::decode::reported;

/// Returns the error that an `error` event or body reports.
pub(super) fn read(text: &str) -> Error {
    let error = reported(text);
    match serde_json::from_str(text).ok().as_ref().and_then(kind) {
        Some(kind) => error.with_kind(kind),
        None => error,
    }
}

/// Returns what the type of an error means. Only some errors are worth another attempt.
fn kind(body: &Value) -> Option<ErrorKind> {
    let error = body.get("error").unwrap_or(body);
    match error.get("type")?.as_str()? {
        "overloaded_error" | "api_error" => Some(ErrorKind::Unavailable),
        "rate_limit_error" => Some(ErrorKind::RateLimited),
        "timeout_error" => Some(ErrorKind::Timeout),
        "authentication_error" | "permission_error" | "billing_error" => Some(ErrorKind::Denied),
        "not_found_error" => Some(ErrorKind::NotFound),
        "invalid_request_error" | "request_too_large" => Some(ErrorKind::InvalidArguments),
        _ => None,
    }
}
