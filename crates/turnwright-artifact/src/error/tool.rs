//! Failures of handlers, with one text for the operator and one for the model.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use super::{BoxError, Error, ErrorCode, ErrorKind, causes};

/// The error of a tool handler.
///
/// `?` converts any error to one of kind internal: the operator reads its message, and the model reads a neutral sentence. Set
/// the text for the model with [`ToolError::for_model`]. An [`Error`] of this crate keeps its own text for the model.
///
/// ```
/// use turnwright_artifact::{ErrorKind, ToolError};
///
/// fn parse(text: &str) -> Result<u32, ToolError> {
///     Ok(text.parse::<u32>()?)
/// }
/// let error = parse("seven").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Internal);
/// assert!(error.message().contains("invalid digit"));
/// assert!(!error.model_text().contains("invalid digit"));
///
/// let error = ToolError::not_found("no row 7 in table users").for_model("There is no user 7.");
/// assert_eq!(error.model_text(), "There is no user 7.");
/// ```
///
/// `ToolError` does not implement `std::error::Error`, so that `?` can convert any error to it.
pub struct ToolError {
    kind: ErrorKind,
    message: String,
    model: Option<String>,
    source: Option<BoxError>,
}

impl ToolError {
    /// Creates an error of this kind with a message for operators.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        ToolError {
            kind,
            message: message.into(),
            model: None,
            source: None,
        }
    }

    /// Creates an error for arguments that are invalid in a way that the schema cannot express.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::InvalidArguments, message)
    }

    /// Creates an error for an item that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::NotFound, message)
    }

    /// Creates an error for something that the tool is not allowed to do.
    pub fn denied(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::Denied, message)
    }

    /// Creates an error for a downstream request that timed out.
    pub fn timeout(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::Timeout, message)
    }

    /// Creates an error for a handler that was cancelled.
    pub fn cancelled(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::Cancelled, message)
    }

    /// Creates an error for a downstream service that limits the rate of requests.
    pub fn rate_limited(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::RateLimited, message)
    }

    /// Creates an error for a downstream service that cannot be reached.
    pub fn unavailable(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::Unavailable, message)
    }

    /// Creates an error for any other failure.
    pub fn internal(message: impl Into<String>) -> Self {
        ToolError::new(ErrorKind::Internal, message)
    }

    /// Converts any error, as `?` does. Also works for types that do not implement `std::error::Error`, such as [`BoxError`] and
    /// `anyhow::Error`. The message is for operators.
    ///
    /// ```
    /// use turnwright_artifact::{BoxError, ToolError};
    ///
    /// fn query() -> Result<u32, BoxError> {
    ///     Err("connection to 10.0.0.7 refused".into())
    /// }
    /// let error = query().map_err(ToolError::from_error).unwrap_err();
    /// assert_eq!(error.message(), "connection to 10.0.0.7 refused");
    /// assert_eq!(error.model_text(), "The tool failed. No details are available.");
    /// ```
    pub fn from_error(error: impl Into<BoxError>) -> Self {
        let error = error.into();
        let message = error.to_string();
        let made = match ours(&*error) {
            Some(ours) => ToolError::new(ours.kind(), message).for_model(ours.model_text()),
            None => ToolError::internal(message),
        };
        made.with_source(error)
    }

    /// Sets the text for the model.
    #[must_use]
    pub fn for_model(mut self, text: impl Into<String>) -> Self {
        self.model = Some(text.into());
        self
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the message for operators.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the text for the model.
    #[must_use]
    pub fn model_text(&self) -> &str {
        self.model.as_deref().unwrap_or_else(|| self.neutral_text())
    }

    /// The text for the model if the author provided none.
    fn neutral_text(&self) -> &'static str {
        match self.kind {
            ErrorKind::InvalidArguments => "The tool cannot work with these arguments.",
            ErrorKind::NotFound => "The tool found nothing for these arguments.",
            ErrorKind::Denied => "The tool is not allowed to do this.",
            ErrorKind::Timeout => "The tool timed out.",
            ErrorKind::Cancelled => "The call was cancelled.",
            ErrorKind::RateLimited => "The tool is busy. Try again later.",
            ErrorKind::Unavailable => "The tool is unavailable. Try again later.",
            ErrorKind::Internal => "The tool failed. No details are available.",
        }
    }

    /// Converts to the error for the caller of the tool.
    #[doc(hidden)]
    pub fn into_error(self, tool: &str) -> Error {
        let model = self.model_text().to_owned();
        let error = Error::new(
            ErrorCode::TOOL_DOWNSTREAM_ERROR,
            format!("`{tool}` failed: {}", self.message),
        )
        .with_kind(self.kind)
        .with_model_text(model);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        ToolError::from_error(error)
    }
}

/// An error that a `#[tool]` function can return: a [`ToolError`], or any error that `?` can convert to one.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    label = "the error type of this tool",
    note = "return `Result<_, ToolError>`, or an error type that implements `std::error::Error + Send + Sync`"
)]
#[doc(hidden)]
pub trait IntoToolError {
    fn into_tool_error(self) -> ToolError;
}

impl IntoToolError for ToolError {
    fn into_tool_error(self) -> ToolError {
        self
    }
}

impl<E: Into<BoxError>> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        ToolError::from_error(self)
    }
}

/// Returns the error of this crate among the causes, if there is one. It has its own text for the model.
fn ours<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e Error> {
    let mut all = std::iter::once(error).chain(causes(error));
    all.find_map(|error| {
        let inside = || error.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref();
        error.downcast_ref().or_else(inside)
    })
}

debug_fields!(ToolError { kind, message });

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
