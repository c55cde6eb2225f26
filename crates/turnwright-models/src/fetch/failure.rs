//! Errors of a fetch. They show only the host of a URL.

use std::error::Error as StdError;
use std::io;

use turnwright_core::{Error, ErrorCode};

/// The guard denied an address.
pub(super) fn denied(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ADDRESS_DENIED, message)
}

/// A setting of a fetcher or reader is invalid.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_INITIAL_MEDIA_VALUE, message)
}

/// A denial as an I/O error.
pub(super) fn stop(denial: Error) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, denial)
}

pub(super) fn too_large(host: &str, max: u64) -> io::Error {
    let message =
        format!("what {host} sends is larger than {max} bytes; `max_bytes` sets the bound");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

pub(super) fn too_slow(host: &str, setting: &str) -> io::Error {
    let message = format!("{host} took too long; `{setting}` sets the bound");
    io::Error::new(io::ErrorKind::TimedOut, message)
}

pub(super) fn cut_off(host: &str, got: u64, promised: u64) -> io::Error {
    let message = format!("{host} promised {promised} bytes and sent {got}");
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

/// The request failed without a response.
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

/// The body ended early.
pub(super) fn broken(host: &str, error: reqwest::Error) -> io::Error {
    let what = format!("the answer of {host} broke off");
    wrap(what, io::ErrorKind::UnexpectedEof, error)
}

fn wrap(what: String, kind: io::ErrorKind, error: reqwest::Error) -> io::Error {
    let message = match causes(&error.without_url()).last() {
        Some(root) => format!("{what}: {root}"),
        None => what,
    };
    io::Error::new(kind, message)
}

/// The chain of causes, including those inside I/O errors.
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
