//! Why nothing, or not everything, was fetched. Nothing here says more of a URL than its host.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use turnwright_core::{Error, ErrorCode};

/// What failed, and why.
#[derive(Debug)]
struct Failure {
    message: String,
    source: reqwest::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.source)
    }
}

/// An address that may not be fetched from.
pub(super) fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::AddressRefused, message)
}

/// A fetcher or a reader that is not well described.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidMedia, message)
}

/// A refusal on the way, as readers fail.
pub(super) fn stop(refusal: Error) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, refusal)
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

/// No answer came.
pub(super) fn unanswered(host: &str, error: reqwest::Error) -> io::Error {
    if let Some(refusal) = causes(&error).find_map(|cause| cause.downcast_ref::<Error>()) {
        return stop(refusal.clone());
    }
    if error.is_timeout() {
        return too_slow(host, "connect_timeout");
    }
    let what = format!("{host} cannot be reached");
    wrap(what, io::ErrorKind::NotConnected, error)
}

/// The answer broke off.
pub(super) fn broken(host: &str, error: reqwest::Error) -> io::Error {
    let what = format!("the answer of {host} broke off");
    wrap(what, io::ErrorKind::UnexpectedEof, error)
}

fn wrap(what: String, kind: io::ErrorKind, error: reqwest::Error) -> io::Error {
    let source = error.without_url();
    let message = match causes(&source).last() {
        Some(root) => format!("{what}: {root}"),
        None => what,
    };
    io::Error::new(kind, Failure { message, source })
}

/// What an error was caused by, each by the next. What stands inside an I/O error is one of them.
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
