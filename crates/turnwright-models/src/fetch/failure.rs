//! Errors of a fetch. They show only the host of a URL.

use std::error::Error as StdError;
use std::io;

use turnwright_core::{Error, ErrorCode};

/// Returns the error for a denied address.
pub(super) fn denied(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ADDRESS_DENIED, message)
}

/// Returns the error for an invalid setting of a fetcher or reader.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_INITIAL_MEDIA_VALUE, message)
}

/// Wraps a denial as an I/O error.
pub(super) fn stop(denial: Error) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, denial)
}

pub(super) fn too_large(host: &str, max: u64) -> io::Error {
    let message = format!(
        "the response of {host} is larger than {max} bytes: raise the limit with `max_bytes`"
    );
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

pub(super) fn too_slow(host: &str, setting: &str) -> io::Error {
    let message = format!("{host} took too long: raise the limit with `{setting}`");
    io::Error::new(io::ErrorKind::TimedOut, message)
}

pub(super) fn cut_off(host: &str, got: u64, promised: u64) -> io::Error {
    let message = format!("{host} announced {promised} bytes but sent {got}");
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

/// Returns the error for a request that failed without a response.
pub(super) fn unanswered(host: &str, error: reqwest::Error) -> io::Error {
    if let Some(denial) = causes(&error).find_map(|cause| cause.downcast_ref::<Error>()) {
        return stop(denial.clone());
    }
    if error.is_timeout() {
        return too_slow(host, "connect_timeout");
    }
    let what = format!("{host} cannot be reached");
    wrap(what, io::ErrorKind::NotConnected, error)
}

/// Returns the error for a body that ended early.
pub(super) fn broken(host: &str, error: reqwest::Error) -> io::Error {
    let what = format!("the response of {host} ended early");
    wrap(what, io::ErrorKind::UnexpectedEof, error)
}

fn wrap(what: String, kind: io::ErrorKind, error: reqwest::Error) -> io::Error {
    let message = match causes(&error.without_url()).last() {
        Some(root) => format!("{what}: {root}"),
        None => what,
    };
    io::Error::new(kind, message)
}

/// Returns the chain of causes, including those inside I/O errors.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(error.source(), |cause| {
        let cause: &'a (dyn StdError + 'static) = *cause;
        let io = cause.downcast_ref::<io::Error>();
        match io.and_then(io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => cause.source(),
        }
    })
}
