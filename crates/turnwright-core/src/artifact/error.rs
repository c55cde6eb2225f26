//! Why an artifact does not answer, in words that a model can act on.

use std::io;

use crate::error::{Error, ErrorCode};

/// For kinds of your own too: what is said goes to the model as it is, and should tell it how to ask instead.
impl Error {
    /// `E_ARTIFACT_QUERY`: the question makes no sense, such as a bad pattern.
    pub fn bad_artifact_query(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_QUERY, message)
    }

    /// `E_ARTIFACT_MALFORMED`: the content is not what its kind says.
    pub(crate) fn malformed_artifact(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_MALFORMED, message)
    }

    /// `E_ARTIFACT_TOO_LARGE`: the content is too large for this question.
    pub(crate) fn artifact_too_large(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_TOO_LARGE, message)
    }

    fn with_text(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Error::new(code, message.clone()).with_model_text(message)
    }

    /// The error that a [`Read`](io::Read) of the artifact's bytes failed with.
    #[cfg(feature = "artifact-json")]
    pub(super) fn from_artifact_read(error: io::Error) -> Self {
        let other = |error| Error::unreadable_artifact(error, 0, 0);
        error.downcast().unwrap_or_else(other)
    }

    /// The bytes are there, but could not be read: from which place on, and how many there are. What the reader says is for
    /// operators.
    pub(crate) fn unreadable_artifact(error: io::Error, at: u64, len: u64) -> Self {
        let place = format!("at byte {at} of {len}");
        Error::new(
            ErrorCode::ARTIFACT_UNREADABLE,
            format!("the artifact could not be read {place}: {error}"),
        )
        .with_model_text(format!(
            "The artifact could not be read {place}; nothing of it was changed. Try again, or ask for another part."
        ))
        .with_source(error)
    }
}
