//! Kinds of failures.

/// The kind of failure. It tells whether to retry, ask or give up.
///
/// ```
/// use std::time::Duration;
/// use turnwright_artifact::{Error, ErrorCode, ErrorKind};
///
/// fn retry_after(error: &Error) -> Option<Duration> {
///     match error.kind() {
///         ErrorKind::RateLimited => Some(Duration::from_secs(30)),
///         ErrorKind::Unavailable | ErrorKind::Timeout => Some(Duration::from_secs(1)),
///         _ => None,
///     }
/// }
///
/// let denied = Error::new(ErrorCode::ADDRESS_DENIED, "10.0.0.1 is not a public address");
/// assert_eq!(retry_after(&denied), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The arguments are invalid.
    InvalidArguments,
    /// The requested item does not exist.
    NotFound,
    /// The operation is not allowed.
    Denied,
    /// The time limit was exceeded.
    Timeout,
    /// The operation was cancelled.
    Cancelled,
    /// Too many requests. A retry may succeed later.
    RateLimited,
    /// Not reachable. A retry may succeed later.
    Unavailable,
    /// Any other failure.
    Internal,
}

impl ErrorKind {
    /// Returns the name, for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorKind::InvalidArguments => "invalid_arguments",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Denied => "denied",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::RateLimited => "rate_limited",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Internal => "internal",
        }
    }
}
