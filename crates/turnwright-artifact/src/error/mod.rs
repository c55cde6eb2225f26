//! The error type of this crate, with a stable code, a text for the operator and a text for the model.
//!
//! ```
//! use turnwright_artifact::{Error, ErrorCode};
//! use turnwright_schema::Schema;
//! use serde_json::json;
//!
//! let document = json!({ "type": "object", "minLenght": 1 });
//! let error = Error::from(Schema::from_document(document).unwrap_err());
//! assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
//! assert!(error.is_fatal());
//! assert_eq!(error.problems()[0].pointer, "/minLenght");
//! ```

mod code;
mod tool;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

pub use code::{ErrorCode, ErrorKind};
pub use tool::ToolError;

#[doc(hidden)]
pub use tool::IntoToolError;

use crate::schema::{Fault, InvalidArguments, SchemaError, SchemaProblem};

type Source = Arc<dyn StdError + Send + Sync + 'static>;

/// A boxed error of any type, as returned by executors, middleware and stores. `?` converts to it.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// An error of Turnwright.
///
/// `Display` is for operators. [`Error::model_text`] is the text for the model.
///
/// ```
/// use turnwright_artifact::{Error, ErrorCode, ErrorKind};
///
/// let error = Error::new(ErrorCode::MODEL_UNREACHABLE, "models.example cannot be reached")
///     .with_source(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
/// assert_eq!(error.code(), ErrorCode::MODEL_UNREACHABLE);
/// assert_eq!(error.kind(), ErrorKind::Unavailable);
/// assert!(!error.is_fatal());
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: ErrorCode,
    kind: ErrorKind,
    message: String,
    model: Option<String>,
    faults: InvalidArguments,
    problems: Vec<SchemaProblem>,
    source: Option<Source>,
}

impl Error {
    /// Creates an error with this code and a message for operators.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            code,
            kind: code.kind(),
            message: message.into(),
            model: None,
            faults: InvalidArguments::default(),
            problems: Vec::new(),
            source: None,
        }))
    }

    #[doc(hidden)]
    pub fn invalid_args(subject: Option<&str>, faults: InvalidArguments) -> Self {
        let mut error = Error::new(ErrorCode::INVALID_TOOL_ARGS, faults.operator_text(subject));
        error.0.model = Some(faults.model_text(subject));
        error.0.faults = faults;
        error
    }

    #[doc(hidden)]
    pub fn with_faults(mut self, faults: InvalidArguments) -> Self {
        self.0.faults = faults;
        self
    }

    /// Returns the faults, if this is an error about invalid arguments.
    #[doc(hidden)]
    pub fn invalid_arguments(&self) -> Option<&InvalidArguments> {
        (self.0.code == ErrorCode::INVALID_TOOL_ARGS).then_some(&self.0.faults)
    }

    /// Sets the kind, if it differs from that of the code.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Appends to the message for operators.
    #[must_use]
    pub fn with_detail(mut self, more: &str) -> Self {
        self.0.message.push_str(more);
        self
    }

    /// Sets the text for the model.
    #[must_use]
    pub fn with_model_text(mut self, text: impl Into<String>) -> Self {
        self.0.model = Some(text.into());
        self
    }

    #[doc(hidden)]
    pub fn with_problems(mut self, problems: Vec<SchemaProblem>) -> Self {
        self.0.problems = problems;
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into().into());
        self
    }

    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the HTTP status for a request that failed with this error.
    ///
    /// It depends on the code if that describes the request (409 if the turn or gate is in another state, 410 if the request is
    /// too late, 422 if a value is not accepted), and on the kind otherwise. Programming errors are 500.
    ///
    /// ```
    /// use turnwright_artifact::{Error, ErrorCode};
    ///
    /// assert_eq!(Error::new(ErrorCode::UNKNOWN_TURN_GATE, "no such gate").http_status(), 404);
    /// assert_eq!(Error::new(ErrorCode::TURN_GATE_ANSWERED, "answered before").http_status(), 409);
    /// ```
    #[must_use]
    pub fn http_status(&self) -> u16 {
        match self.code() {
            ErrorCode::TURN_EXISTS
            | ErrorCode::TURN_HELD
            | ErrorCode::TURN_WAITING
            | ErrorCode::TURN_NOT_RESUMABLE
            | ErrorCode::TURN_NOT_SUSPENDABLE
            | ErrorCode::TURN_INTERRUPTED
            | ErrorCode::TURN_GATE_ANSWERED
            | ErrorCode::TURN_GATE_CLOSED => 409,
            ErrorCode::TURN_GATE_TIMEOUT => 410,
            _ => match self.kind() {
                ErrorKind::InvalidArguments => 422,
                ErrorKind::NotFound => 404,
                ErrorKind::Denied => 403,
                ErrorKind::Timeout => 504,
                ErrorKind::RateLimited => 429,
                ErrorKind::Cancelled | ErrorKind::Unavailable => 503,
                ErrorKind::Internal => 500,
            },
        }
    }

    /// Returns whether it is a programming error.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.0.code.is_fatal()
    }

    /// Returns what is wrong with the arguments, if they are invalid: at most 20 faults.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        self.0.faults.faults()
    }

    /// Returns the number of faults beyond those listed.
    #[must_use]
    pub fn more_faults(&self) -> usize {
        self.0.faults.more_faults()
    }

    /// Returns what is wrong with the schema, if it is invalid.
    #[must_use]
    pub fn problems(&self) -> &[SchemaProblem] {
        &self.0.problems
    }

    /// Returns the first cause of this type, so that callers need not parse text.
    ///
    /// ```
    /// use turnwright_artifact::{Error, ErrorCode};
    ///
    /// let io = std::io::Error::from(std::io::ErrorKind::StorageFull);
    /// let error = Error::new(ErrorCode::STORE_ERROR, "the batch was not written").with_source(io);
    /// let cause = error.find_cause::<std::io::Error>();
    /// assert_eq!(cause.map(std::io::Error::kind), Some(std::io::ErrorKind::StorageFull));
    /// ```
    #[must_use]
    pub fn find_cause<T: StdError + 'static>(&self) -> Option<&T> {
        causes(self).find_map(|error| error.downcast_ref())
    }

    /// Returns the message for operators, followed by its causes.
    #[must_use]
    pub fn with_causes(&self) -> String {
        let mut text = self.0.message.clone();
        for cause in causes(self).map(ToString::to_string) {
            // Many error messages already contain those of their causes.
            if !text.contains(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        text
    }

    /// Returns the text for the model. It never contains the operator's message, unless the author included it.
    #[must_use]
    pub fn model_text(&self) -> &str {
        self.0.model.as_deref().unwrap_or(self.0.code.model_text())
    }

    /// Returns the message for operators, without the code.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// Iterates over the causes of an error.
fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(error.source(), |error| (**error).source())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Error");
        debug
            .field("code", &self.0.code.as_str())
            .field("message", &self.0.message);
        if let Some(source) = &self.0.source {
            debug.field("source", source);
        }
        debug.finish_non_exhaustive()
    }
}

impl From<InvalidArguments> for Error {
    fn from(faults: InvalidArguments) -> Self {
        Error::invalid_args(None, faults)
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Self {
        let message = error.to_string();
        Error::new(ErrorCode::INVALID_SCHEMA, message).with_problems(error.into_problems())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
