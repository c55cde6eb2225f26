//! Errors of artifact queries, with messages that a model can act on.

use std::io;

use crate::error::{Error, ErrorCode};

/// Constructors for the errors of artifact queries. Custom kinds can use them too. The message is sent to the model unchanged, so
/// it should say how to fix the query.
impl Error {
    /// Creates an `E_ARTIFACT_QUERY` error: the query is invalid, for example because of a bad pattern.
    pub fn bad_artifact_query(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_QUERY, message)
    }

    /// Creates an `E_ARTIFACT_MALFORMED` error: the content is not valid for its kind.
    pub fn malformed_artifact(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_MALFORMED, message)
    }

    /// Creates an `E_ARTIFACT_TOO_LARGE` error: the content is too large for this query.
    pub fn artifact_too_large(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_TOO_LARGE, message)
    }

    fn with_text(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Error::new(code, message.clone()).with_model_text(message)
    }

    /// Recovers the error that a [`Read`](io::Read) of the artifact's bytes failed with.
    #[cfg(feature = "artifact-formats")]
    pub(super) fn from_artifact_read(error: io::Error) -> Self {
        let other = |error| Error::unreadable_artifact(error, 0, 0);
        error.downcast().unwrap_or_else(other)
    }

    /// `E_ARTIFACT_UNREADABLE`: reading failed at byte `at` of `len`. The reader's error goes to operators only, not to the
    /// model.
    pub(crate) fn unreadable_artifact(error: io::Error, at: u64, len: u64) -> Self {
        let place = format!("at byte {at} of {len}");
        Error::new(
            ErrorCode::ARTIFACT_UNREADABLE,
            format!("the artifact could not be read {place}: {error}"),
        )
        .with_model_text(format!(
            "The artifact could not be read {place}. It was not changed. Try again, or request a different part."
        ))
        .with_source(error)
    }
}
