//! One error type for the whole crate, with a stable code, a text for the operator and a text for the model.
//!
//! ```
//! use turnwright_core::{Error, ErrorCode};
//! use turnwright_core::schema::Schema;
//! use serde_json::json;
//!
//! let document = json!({ "type": "object", "minLenght": 1 });
//! let error = Error::from(Schema::from_document(document).unwrap_err());
//! assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
//! assert!(error.is_fatal());
//! assert_eq!(error.problems()[0].pointer, "/minLenght");
//! ```

mod tool;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

pub use tool::ToolError;

pub(crate) use tool::IntoToolError;

use crate::schema::{Fault, InvalidArguments, SchemaError, SchemaProblem};

type Source = Arc<dyn StdError + Send + Sync + 'static>;

/// Any error of somebody else's: what executors, middleware and stores fail with. `?` makes one.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// What went wrong, as a name that does not change between releases.
///
/// The codes of the framework are constants, named like the code: [`ErrorCode::INVALID_TOOL_ARGS`] is `E_INVALID_TOOL_ARGS`. A
/// crate that adds a model server or a store defines its own:
///
/// ```
/// use turnwright_core::{Error, ErrorCode, ErrorKind};
///
/// const QUOTA_EXCEEDED: ErrorCode = ErrorCode::new("E_ACME_QUOTA_EXCEEDED", ErrorKind::RateLimited)
///     .with_meaning("The account has used up its quota.")
///     .with_model_text("The quota is used up. Do not try again today.");
///
/// let error = Error::new(QUOTA_EXCEEDED, "account 17 is out of quota");
/// assert_eq!(error.code(), QUOTA_EXCEEDED);
/// assert_eq!(error.kind(), ErrorKind::RateLimited);
/// assert_eq!(error.to_string(), "E_ACME_QUOTA_EXCEEDED: account 17 is out of quota");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode {
    name: &'static str,
    kind: ErrorKind,
    fatal: bool,
    meaning: &'static str,
    model_text: &'static str,
}

impl ErrorCode {
    /// Defines a code. By convention its name starts with `E_` and the name of your crate.
    #[must_use]
    pub const fn new(name: &'static str, kind: ErrorKind) -> Self {
        ErrorCode {
            name,
            kind,
            fatal: false,
            meaning: "",
            model_text: "The task could not be completed.",
        }
    }

    /// Marks the code as a mistake of the programmer, which no retry and no other input can fix.
    #[must_use]
    pub const fn fatal(self) -> Self {
        ErrorCode {
            fatal: true,
            ..self
        }
    }

    /// Sets what the code means, in a sentence for operators. Default: empty.
    #[must_use]
    pub const fn with_meaning(self, meaning: &'static str) -> Self {
        ErrorCode { meaning, ..self }
    }

    /// Sets what a model reads if an error has no text of its own. Default: "The task could not be completed."
    #[must_use]
    pub const fn with_model_text(self, model_text: &'static str) -> Self {
        ErrorCode { model_text, ..self }
    }

    /// The code as it appears in logs and records, for example `E_INVALID_TOOL_ARGS`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.name
    }

    /// Whether it is a mistake of the programmer, which no retry and no other input can fix.
    #[must_use]
    pub const fn is_fatal(self) -> bool {
        self.fatal
    }

    /// The kind of an error that does not set its own.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        self.kind
    }

    /// What it means, in a sentence for operators.
    ///
    /// ```
    /// use turnwright_core::ErrorCode;
    ///
    /// assert_eq!(ErrorCode::UNKNOWN_TOOL.meaning(), "No tool of that name in this registry.");
    /// ```
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.meaning
    }

    /// What a model reads if an error has no text of its own.
    #[must_use]
    pub const fn model_text(self) -> &'static str {
        self.model_text
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Defines the codes of the framework, and the list of all of them, from one table.
macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident, $fatal:literal, $kind:ident, $model:literal;)+) => {
        impl ErrorCode {
            $(
                $(#[doc = $doc])*
                pub const $name: ErrorCode = ErrorCode {
                    name: concat!("E_", stringify!($name)),
                    kind: ErrorKind::$kind,
                    fatal: $fatal,
                    // A doc comment begins with a blank.
                    meaning: concat!($($doc),*).trim_ascii(),
                    model_text: $model,
                };
            )+

            /// The codes of the framework, in the order of the table.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name,)+];
        }
    };
}

codes! {
    /// A schema that cannot be enforced as it is written.
    INVALID_SCHEMA, true, Internal, "The tool is misconfigured; do not call it again.";
    /// A tool whose definition is wrong.
    INVALID_INITIAL_TOOL_VALUE, true, Internal, "The tool is misconfigured; do not call it again.";
    /// Two tools of one name.
    TOOL_ALREADY_REGISTERED, true, Internal, "The tool is misconfigured; do not call it again.";
    /// A dispatch was acknowledged or refused a second time.
    LLM_EXECUTION_ALREADY_SIGNALLED, true, Internal, "The tool is misconfigured; do not call it again.";
    /// A runner whose parts do not fit together.
    INVALID_TURN_RUNNER_CONFIG, true, Internal, "The tool is misconfigured; do not call it again.";
    /// A store, a spool and a secret that do not fit together.
    INVALID_STORAGE, true, Internal, "The tool is misconfigured; do not call it again.";
    /// A turn that cannot be begun as it was asked for, or that has ended already.
    INVALID_TURN_CONTEXT, true, Internal, "The tool is misconfigured; do not call it again.";
    /// State was asked for that the runner was not given.
    MISSING_STATE, true, Internal, "The tool is misconfigured; do not call it again.";
    /// A gate that is not well defined.
    INVALID_INITIAL_TURN_GATE_VALUE, true, Internal, "The tool is misconfigured; do not call it again.";
    /// An answer that the gate does not take; it stays open.
    INVALID_TURN_GATE_RESOLUTION, true, InvalidArguments, "The answer was not accepted.";
    /// A value that does not fit the stash: a bad path, or a path through something that is no object.
    INVALID_STASH_PATH, true, Internal, "The tool failed. Nothing more is known.";
    /// The arguments were refused; the handler did not run.
    INVALID_TOOL_ARGS, false, InvalidArguments, "The arguments were refused; nothing was run.";
    /// No tool of that name in this registry.
    UNKNOWN_TOOL, false, NotFound, "There is no tool of that name; nothing was run.";
    /// Nobody allowed the call.
    TOOL_DENIED, false, Denied, "The call was not approved; nothing was run. Do not repeat it unless you are asked to.";
    /// The handler failed or panicked.
    TOOL_DOWNSTREAM_ERROR, false, Internal, "The tool failed. Nothing more is known.";
    /// A result hook failed, so nothing of the result is kept or shown.
    TOOL_RESULT_WITHHELD, false, Internal, "The tool ran, but its result was withheld.";
    /// The call ran into its deadline.
    TOOL_TIMEOUT, false, Timeout, "The call ran out of time.";
    /// The call was cancelled.
    TOOL_CANCELLED, false, Cancelled, "The call was cancelled.";
    /// The store did not do its work.
    STORE_ERROR, false, Unavailable, "What happened could not be recorded. Try again later.";
    /// The result could not be kept.
    SPOOL_ERROR, false, Unavailable, "The tool ran, but its result could not be kept.";
    /// A turn that was interrupted, and runs nowhere: it must be resumed.
    TURN_INTERRUPTED, false, Unavailable, "The turn was interrupted.";
    /// The store has no such turn, or several conversations have one of that id.
    UNKNOWN_TURN, false, NotFound, "There is no such turn.";
    /// The conversation has a turn of that id already.
    TURN_EXISTS, false, InvalidArguments, "There is a turn of that id already.";
    /// Somebody else runs a turn of this conversation right now.
    TURN_HELD, false, Unavailable, "The conversation is in use. Try again later.";
    /// Another process has taken the turn over: this one must stop, and writes nothing any more.
    TURN_TAKEN_OVER, false, Cancelled, "The task goes on elsewhere.";
    /// A turn that has ended for good, or that its conversation went on without.
    TURN_NOT_RESUMABLE, false, InvalidArguments, "That turn cannot be resumed.";
    /// The turn waits for answers: answer at its gates and resume it, or give it up with `abandon_waiting`.
    TURN_WAITING, false, Unavailable, "The task waits for an answer.";
    /// A turn that cannot be suspended: its input names no conversation, or it runs under a call.
    TURN_NOT_SUSPENDABLE, false, InvalidArguments, "That turn cannot be suspended.";
    /// The conversation has no gate of that id.
    UNKNOWN_TURN_GATE, false, NotFound, "There is no such gate.";
    /// The gate was answered before: the first answer counts.
    TURN_GATE_ANSWERED, false, InvalidArguments, "The gate was answered before.";
    /// The gate takes no answer: its turn has ended, or went on without one.
    TURN_GATE_CLOSED, false, InvalidArguments, "The gate takes no answer any more.";
    /// Middleware of the turn's input failed.
    INPUT_PIPELINE_ERROR, false, Internal, "The task could not be completed.";
    /// Middleware of the turn's output failed.
    OUTPUT_PIPELINE_ERROR, false, Internal, "The task could not be completed.";
    /// Middleware of a dispatch failed.
    DISPATCH_PIPELINE_ERROR, false, Internal, "The task could not be completed.";
    /// Middleware ended without calling the next and without aborting.
    PIPELINE_SHORT_CIRCUITED, false, Internal, "The task could not be completed.";
    /// The executor panicked, or failed with an error that is not one of ours.
    LLM_EXECUTION_EXECUTOR_ERROR, false, Internal, "The task could not be completed.";
    /// A model server that is not well described: a bad address, a parameter that does not exist.
    INVALID_MODEL_CONFIG, true, Internal, "The tool is misconfigured; do not call it again.";
    /// The model server could not be reached, or the connection broke.
    MODEL_UNREACHABLE, false, Unavailable, "The task could not be completed. Try again later.";
    /// The model server took too long.
    MODEL_TIMEOUT, false, Timeout, "The task could not be completed. Try again later.";
    /// The model server answered with an error.
    MODEL_SERVER_ERROR, false, Internal, "The task could not be completed.";
    /// What the model server sent cannot be read: it is not of the protocol, or larger than allowed.
    WIRE_ERROR, false, Unavailable, "The task could not be completed. Try again later.";
    /// The model's response was cut off before it was whole.
    MODEL_RESPONSE_INCOMPLETE, false, Unavailable, "The response was cut off before it was whole.";
    /// The prompt is larger than the model's context window.
    CONTEXT_WINDOW_EXCEEDED, false, InvalidArguments, "The task is too large.";
    /// A media that the model server cannot be shown.
    UNSUPPORTED_MEDIA, false, InvalidArguments, "The media cannot be shown.";
    /// An address that may not be fetched from: a private one.
    ADDRESS_DENIED, false, Denied, "The address may not be fetched from.";
    /// The executor nacked the dispatch without an error of its own.
    LLM_EXECUTION_NACKED, false, Denied, "The task was not carried out.";
    /// The model declined to answer.
    MODEL_DECLINED, false, Denied, "The model declined to answer.";
    /// Nobody could ever answer at this gate.
    LLM_EXECUTION_GATE_NOT_SUPPORTED, false, Unavailable, "Nobody can be asked here.";
    /// Nobody answered in time.
    TURN_GATE_TIMEOUT, false, Timeout, "Nobody answered in time.";
    /// The turn ended before somebody answered.
    TURN_GATE_ABORTED, false, Cancelled, "The question was withdrawn before it was answered.";
    /// The request was rejected.
    TURN_GATE_REJECTED, false, Denied, "The request was rejected.";
    /// The turn was aborted or cancelled.
    TURN_ABORTED, false, Cancelled, "The task was aborted before it was completed.";
    /// The turn came to one of its limits.
    TURN_LIMIT, false, Unavailable, "The task reached a limit before it was completed.";
    /// The answer of a turn is not of the type that was asked for.
    INVALID_ANSWER, false, InvalidArguments, "The answer was not accepted.";
    /// Middleware rejected the answer of a turn, and the model was not asked again.
    ANSWER_REJECTED, false, Denied, "The answer was rejected.";
    /// An artifact's bytes could not be read.
    ARTIFACT_UNREADABLE, false, Unavailable, "The artifact could not be read. Try again later.";
    /// A question to an artifact that makes no sense: a bad pattern, a bad path.
    ARTIFACT_QUERY, false, InvalidArguments, "The artifact cannot answer this question.";
    /// An artifact whose content is not what its kind says.
    ARTIFACT_MALFORMED, false, Internal, "The artifact's content is not well formed; read it as text.";
    /// An artifact that is too large for a question.
    ARTIFACT_TOO_LARGE, false, InvalidArguments, "The artifact is too large for this question; read it as text.";
    /// One id names two artifacts.
    ARTIFACT_ID_COLLISION, false, Internal, "Two results have the same id; neither can be read by it.";
    /// A record of a call that is not well defined.
    INVALID_INITIAL_TOOL_CALL_VALUE, true, Internal, "The record is misconfigured.";
    /// A message that is not well defined.
    INVALID_INITIAL_MESSAGE_VALUE, true, Internal, "The record is misconfigured.";
    /// A thought that is not well defined.
    INVALID_INITIAL_THOUGHT_VALUE, true, Internal, "The record is misconfigured.";
    /// A memory that is not well defined.
    INVALID_INITIAL_MEMORY_VALUE, true, Internal, "The record is misconfigured.";
    /// Something retrieved that is not well defined.
    INVALID_INITIAL_RETRIEVABLE_VALUE, true, Internal, "The record is misconfigured.";
    /// A standing instruction that is not well defined.
    INVALID_INITIAL_INSTRUCTION_VALUE, true, Internal, "The record is misconfigured.";
    /// A media that is not well defined.
    INVALID_INITIAL_MEDIA_VALUE, true, Internal, "The media is misconfigured.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What sort of failure it was: enough to decide whether to retry, ask or give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The arguments do not fit.
    InvalidArguments,
    /// What was asked for does not exist.
    NotFound,
    /// Not allowed.
    Denied,
    /// Out of time.
    Timeout,
    /// Called off.
    Cancelled,
    /// Too much at once; later may work.
    RateLimited,
    /// Out of reach; later may work.
    Unavailable,
    /// Anything else.
    Internal,
}

names!(ErrorKind {
    InvalidArguments = "invalid_arguments",
    NotFound = "not_found",
    Denied = "denied",
    Timeout = "timeout",
    Cancelled = "cancelled",
    RateLimited = "rate_limited",
    Unavailable = "unavailable",
    Internal = "internal",
});

/// Everything that can go wrong in Turnwright.
///
/// `Display` is for operators; [`Error::model_text`] is what a model may read.
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
    /// An error of this code, with a message for operators.
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

    pub(crate) fn invalid_args(subject: Option<&str>, faults: InvalidArguments) -> Self {
        let mut error = Error::new(ErrorCode::INVALID_TOOL_ARGS, faults.operator_text(subject));
        error.0.model = Some(faults.model_text_for(subject));
        error.0.faults = faults;
        error
    }

    /// Of another kind than its code says.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// With more to say to operators.
    #[must_use]
    pub fn saying(mut self, more: &str) -> Self {
        self.0.message.push_str(more);
        self
    }

    /// What a model may read of it.
    #[must_use]
    pub fn with_model_text(mut self, text: impl Into<String>) -> Self {
        self.0.model = Some(text.into());
        self
    }

    pub(crate) fn with_problems(mut self, problems: Vec<SchemaProblem>) -> Self {
        self.0.problems = problems;
        self
    }

    /// What caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into().into());
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The sort of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The HTTP status with which a server answers a request that failed with this error.
    ///
    /// It follows the code where the code says what is wrong with the request (409 if the turn or gate is in another state, 410 if
    /// it came too late, 422 if a value is not accepted), and the kind otherwise. Mistakes of the programmer are 500.
    ///
    /// ```
    /// use turnwright_core::{Error, ErrorCode};
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

    /// Whether it is a mistake of the programmer.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.0.code.is_fatal()
    }

    /// What is wrong with the arguments, where that is what failed: 20 faults at most.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        self.0.faults.faults()
    }

    /// How many faults there were beyond those listed.
    #[must_use]
    pub fn more_faults(&self) -> usize {
        self.0.faults.more_faults()
    }

    /// What is wrong with the schema, where that is what failed.
    #[must_use]
    pub fn problems(&self) -> &[SchemaProblem] {
        &self.0.problems
    }

    /// Returns the first error of this type among the causes, so that no text has to be parsed.
    ///
    /// ```
    /// use turnwright_core::{Error, ErrorCode};
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

    /// The message for operators, followed by what caused it.
    #[must_use]
    pub fn with_causes(&self) -> String {
        let mut text = self.0.message.clone();
        for cause in causes(self).map(ToString::to_string) {
            // The messages of many errors contain those of their causes.
            if !text.contains(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        text
    }

    /// What a model may be told: never the operator's text unless the author said so.
    #[must_use]
    pub fn model_text(&self) -> &str {
        self.0.model.as_deref().unwrap_or(self.0.code.model_text())
    }

    /// The message for operators, without the code.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// What caused an error, and what caused that.
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
