//! Failures of a handler: one text for the operator, one for the model.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use super::{Error, ErrorCode, ErrorKind, causes};

/// What a handler returns when it fails.
///
/// `?` turns any error into one, of kind internal: the operator reads it, the model reads a neutral sentence. What the
/// model is to read is said with [`ToolError::for_model`]; an [`Error`] of this crate says it by itself.
///
/// ```
/// use turnwright_core::{ErrorKind, ToolError};
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
/// It is no `std::error::Error` itself, so that `?` can make one from any.
pub struct ToolError {
    kind: ErrorKind,
    message: String,
    model: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync + 'static>>,
}

/// One table makes the constructors and the neutral texts, so that a new kind cannot miss one.
macro_rules! kinds {
    ($($kind:ident, $make:ident, $model:literal, $doc:literal;)+) => {
        impl ToolError {
            $(
                #[doc = $doc]
                pub fn $make(message: impl Into<String>) -> Self {
                    ToolError::new(ErrorKind::$kind, message)
                }
            )+

            /// What the model reads where the author said nothing for it.
            fn neutral_text(&self) -> &'static str {
                match self.kind {
                    $(ErrorKind::$kind => $model,)+
                }
            }
        }
    };
}

kinds! {
    InvalidArguments, invalid_arguments, "The tool cannot work with these arguments.", "The arguments do not fit together, in a way that no schema says.";
    NotFound, not_found, "The tool found nothing for these arguments.", "What was asked for does not exist.";
    Denied, denied, "The tool is not allowed to do this.", "Not allowed.";
    Timeout, timeout, "The tool ran out of time.", "Something downstream ran out of time.";
    Cancelled, cancelled, "The call was cancelled.", "The handler noticed that it was called off.";
    RateLimited, rate_limited, "The tool is busy; try again later.", "Too much at once.";
    Unavailable, unavailable, "The tool is out of reach for now; try again later.", "Something downstream is out of reach.";
    Internal, internal, "The tool failed. Nothing more is known.", "Anything else.";
}

impl ToolError {
    /// A failure of this kind, with a message for operators.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        ToolError {
            kind,
            message: message.into(),
            model: None,
            source: None,
        }
    }

    /// What the model is to read.
    #[must_use]
    pub fn for_model(mut self, text: impl Into<String>) -> Self {
        self.model = Some(text.into());
        self
    }

    /// Of another kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// What caused it.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn StdError + Send + Sync + 'static>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The sort of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message for operators.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What the model reads.
    #[must_use]
    pub fn model_text(&self) -> &str {
        self.model.as_deref().unwrap_or_else(|| self.neutral_text())
    }

    /// Wrapped for whoever called the tool.
    pub(crate) fn into_error(self, tool: &str) -> Error {
        let model = self.model_text().to_owned();
        let error = Error::new(
            ErrorCode::ToolDownstream,
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
        let message = error.to_string();
        let made = match ours(&error) {
            Some(ours) => ToolError::new(ours.kind(), message).for_model(ours.model_text()),
            None => ToolError::internal(message),
        };
        made.with_source(error)
    }
}

/// The error of this crate that is behind another, if one is: it knows what a model may read.
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
