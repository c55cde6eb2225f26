//! One error type for the whole crate, with a stable code, a text for the operator and a text for the model.
//!
//! ```
//! use turnwright_core::{Error, ErrorCode, Schema};
//! use serde_json::json;
//!
//! let document = json!({ "type": "object", "minLenght": 1 });
//! let error = Error::from(Schema::from_document(document).unwrap_err());
//! assert_eq!(error.code(), ErrorCode::InvalidSchema);
//! assert!(error.is_fatal());
//! assert_eq!(error.problems()[0].pointer, "/minLenght");
//! ```

mod tool;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

pub use tool::ToolError;

use crate::schema::{Fault, InvalidArguments, SchemaError, SchemaProblem};

type Source = Arc<dyn StdError + Send + Sync + 'static>;

/// Any error of somebody else's: what executors, middleware and stores fail with. `?` makes one.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// One table makes the codes, their fatality, what they mean and what the model is told where nobody said more.
macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $code:literal, $fatal:literal, $kind:ident, $model:literal;)+) => {
        /// What went wrong, as a name that does not change between releases.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[doc = $doc])* $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)+];

            /// The code as it stands in logs and records, for example `E_INVALID_TOOL_ARGS`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$variant => $code,)+ }
            }

            /// Whether it is a mistake of the programmer, which no retry and no other input can mend.
            #[must_use]
            pub const fn is_fatal(self) -> bool {
                match self { $(ErrorCode::$variant => $fatal,)+ }
            }

            /// The sort of failure that it is, where an error says nothing else.
            #[must_use]
            pub const fn kind(self) -> ErrorKind {
                match self { $(ErrorCode::$variant => ErrorKind::$kind,)+ }
            }

            /// What it means, in a sentence for operators.
            ///
            /// ```
            /// use turnwright_core::ErrorCode;
            ///
            /// assert_eq!(ErrorCode::UnknownTool.meaning(), "No tool of that name in this registry.");
            /// ```
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                // A doc comment begins with the blank that stands before its words.
                match self { $(ErrorCode::$variant => concat!($($doc),*).trim_ascii(),)+ }
            }

            /// What a model is told, where an error says nothing else.
            #[must_use]
            pub const fn model_text(self) -> &'static str {
                match self { $(ErrorCode::$variant => $model,)+ }
            }
        }
    };
}

codes! {
    /// A schema that cannot be enforced as it is written.
    InvalidSchema = "E_INVALID_SCHEMA", true, Internal, "The tool is misconfigured; do not call it again.";
    /// A tool whose definition is wrong.
    InvalidTool = "E_INVALID_INITIAL_TOOL_VALUE", true, Internal, "The tool is misconfigured; do not call it again.";
    /// Two tools of one name.
    ToolAlreadyRegistered = "E_TOOL_ALREADY_REGISTERED", true, Internal, "The tool is misconfigured; do not call it again.";
    /// A dispatch was acknowledged or refused a second time.
    AlreadySignalled = "E_LLM_EXECUTION_ALREADY_SIGNALLED", true, Internal, "The tool is misconfigured; do not call it again.";
    /// A runner whose parts do not fit together.
    InvalidTurnRunner = "E_INVALID_TURN_RUNNER_CONFIG", true, Internal, "The tool is misconfigured; do not call it again.";
    /// A turn that cannot be begun as it was asked for, or that has ended already.
    InvalidTurnContext = "E_INVALID_TURN_CONTEXT", true, Internal, "The tool is misconfigured; do not call it again.";
    /// State was asked for that the runner was not given.
    MissingState = "E_MISSING_STATE", true, Internal, "The tool is misconfigured; do not call it again.";
    /// A gate that is not well defined.
    InvalidTurnGate = "E_INVALID_INITIAL_TURN_GATE_VALUE", true, Internal, "The tool is misconfigured; do not call it again.";
    /// An answer that the gate does not take; it stays open.
    InvalidGateResolution = "E_INVALID_TURN_GATE_RESOLUTION", true, InvalidArguments, "The answer was not accepted.";
    /// A value that does not fit the stash: a bad path, or a path through something that is no object.
    InvalidStashPath = "E_INVALID_STASH_PATH", true, Internal, "The tool failed. Nothing more is known.";
    /// The arguments were refused; the handler did not run.
    InvalidToolArgs = "E_INVALID_TOOL_ARGS", false, InvalidArguments, "The arguments were refused; nothing was run.";
    /// No tool of that name in this registry.
    UnknownTool = "E_UNKNOWN_TOOL", false, NotFound, "There is no tool of that name; nothing was run.";
    /// Nobody allowed the call.
    ToolDenied = "E_TOOL_DENIED", false, Denied, "The call was not approved; nothing was run. Do not repeat it unless you are asked to.";
    /// The handler failed or panicked.
    ToolDownstream = "E_TOOL_DOWNSTREAM_ERROR", false, Internal, "The tool failed. Nothing more is known.";
    /// The call ran into its deadline.
    ToolTimeout = "E_TOOL_TIMEOUT", false, Timeout, "The call ran out of time.";
    /// The call was cancelled.
    ToolCancelled = "E_TOOL_CANCELLED", false, Cancelled, "The call was cancelled.";
    /// The store did not do its work.
    Store = "E_STORE_ERROR", false, Unavailable, "What happened could not be recorded. Try again later.";
    /// The result could not be kept.
    Spool = "E_SPOOL_ERROR", false, Unavailable, "The tool ran, but its result could not be kept.";
    /// The store has no such turn, or several conversations have one of that id.
    UnknownTurn = "E_UNKNOWN_TURN", false, NotFound, "There is no such turn.";
    /// The conversation has a turn of that id already.
    TurnExists = "E_TURN_EXISTS", false, InvalidArguments, "There is a turn of that id already.";
    /// Somebody else runs a turn of this conversation right now.
    TurnHeld = "E_TURN_HELD", false, Unavailable, "The conversation is in use. Try again later.";
    /// Another process has taken the turn over: this one must stop, and writes nothing any more.
    TurnTakenOver = "E_TURN_TAKEN_OVER", false, Cancelled, "The task goes on elsewhere.";
    /// A turn that has ended for good, or that its conversation went on without.
    TurnNotResumable = "E_TURN_NOT_RESUMABLE", false, InvalidArguments, "That turn cannot be resumed.";
    /// Middleware of the turn's input failed.
    InputPipeline = "E_INPUT_PIPELINE_ERROR", false, Internal, "The task could not be completed.";
    /// Middleware of the turn's output failed.
    OutputPipeline = "E_OUTPUT_PIPELINE_ERROR", false, Internal, "The task could not be completed.";
    /// Middleware of a dispatch failed.
    DispatchPipeline = "E_DISPATCH_PIPELINE_ERROR", false, Internal, "The task could not be completed.";
    /// Middleware ended without calling the next and without aborting.
    PipelineShortCircuited = "E_PIPELINE_SHORT_CIRCUITED", false, Internal, "The task could not be completed.";
    /// The executor failed or panicked.
    Executor = "E_LLM_EXECUTION_EXECUTOR_ERROR", false, Internal, "The task could not be completed.";
    /// A model server that is not well described: a bad address, a parameter that does not exist.
    InvalidModelConfig = "E_INVALID_MODEL_CONFIG", true, Internal, "The tool is misconfigured; do not call it again.";
    /// The model server could not be reached, or the connection broke.
    ModelUnreachable = "E_MODEL_UNREACHABLE", false, Unavailable, "The task could not be completed. Try again later.";
    /// The model server took too long.
    ModelTimeout = "E_MODEL_TIMEOUT", false, Timeout, "The task could not be completed. Try again later.";
    /// The model server answered with an error.
    ModelServer = "E_MODEL_SERVER_ERROR", false, Internal, "The task could not be completed.";
    /// What the model server sent cannot be read: it is not of the protocol, or larger than allowed.
    Wire = "E_WIRE_ERROR", false, Unavailable, "The task could not be completed. Try again later.";
    /// The model's response was cut off before it was whole.
    ResponseIncomplete = "E_MODEL_RESPONSE_INCOMPLETE", false, Unavailable, "The response was cut off before it was whole.";
    /// The prompt is larger than the model's context window.
    ContextWindow = "E_CONTEXT_WINDOW_EXCEEDED", false, InvalidArguments, "The task is too large.";
    /// A media that the model server cannot be shown.
    UnsupportedMedia = "E_UNSUPPORTED_MEDIA", false, InvalidArguments, "The media cannot be shown.";
    /// An address that may not be fetched from: a private one.
    AddressDenied = "E_ADDRESS_DENIED", false, Denied, "The address may not be fetched from.";
    /// The executor nacked the dispatch without an error of its own.
    Nacked = "E_LLM_EXECUTION_NACKED", false, Denied, "The task was not carried out.";
    /// The model declined to answer.
    ModelDeclined = "E_MODEL_DECLINED", false, Denied, "The model declined to answer.";
    /// Nobody could ever answer at this gate.
    GateNotSupported = "E_LLM_EXECUTION_GATE_NOT_SUPPORTED", false, Unavailable, "Nobody can be asked here.";
    /// Nobody answered in time.
    GateTimeout = "E_TURN_GATE_TIMEOUT", false, Timeout, "Nobody answered in time.";
    /// The turn ended before somebody answered.
    GateAborted = "E_TURN_GATE_ABORTED", false, Cancelled, "The question was withdrawn before it was answered.";
    /// The request was rejected.
    GateRejected = "E_TURN_GATE_REJECTED", false, Denied, "The request was rejected.";
    /// The turn was aborted or cancelled.
    TurnAborted = "E_TURN_ABORTED", false, Cancelled, "The task was aborted before it was completed.";
    /// The turn came to one of its limits.
    TurnLimit = "E_TURN_LIMIT", false, Unavailable, "The task reached a limit before it was completed.";
    /// The answer of a turn is not of the type that was asked for.
    InvalidAnswer = "E_INVALID_ANSWER", false, InvalidArguments, "The answer was not accepted.";
    /// An artifact's bytes could not be read.
    ArtifactUnreadable = "E_ARTIFACT_UNREADABLE", false, Unavailable, "The artifact could not be read. Try again later.";
    /// A question to an artifact that makes no sense: a bad pattern, a bad path.
    ArtifactQuery = "E_ARTIFACT_QUERY", false, InvalidArguments, "The artifact cannot answer this question.";
    /// An artifact whose content is not what its kind says.
    ArtifactMalformed = "E_ARTIFACT_MALFORMED", false, Internal, "The artifact's content is not well formed; read it as text.";
    /// An artifact that is too large for a question.
    ArtifactTooLarge = "E_ARTIFACT_TOO_LARGE", false, InvalidArguments, "The artifact is too large for this question; read it as text.";
    /// One id names two artifacts.
    ArtifactIdCollision = "E_ARTIFACT_ID_COLLISION", false, Internal, "Two results have the same id; neither can be read by it.";
    /// A record of a call that is not well defined.
    InvalidToolCall = "E_INVALID_INITIAL_TOOL_CALL_VALUE", true, Internal, "The record is misconfigured.";
    /// A message that is not well defined.
    InvalidMessage = "E_INVALID_INITIAL_MESSAGE_VALUE", true, Internal, "The record is misconfigured.";
    /// A thought that is not well defined.
    InvalidThought = "E_INVALID_INITIAL_THOUGHT_VALUE", true, Internal, "The record is misconfigured.";
    /// A memory that is not well defined.
    InvalidMemory = "E_INVALID_INITIAL_MEMORY_VALUE", true, Internal, "The record is misconfigured.";
    /// Something retrieved that is not well defined.
    InvalidRetrievable = "E_INVALID_INITIAL_RETRIEVABLE_VALUE", true, Internal, "The record is misconfigured.";
    /// A standing instruction that is not well defined.
    InvalidInstruction = "E_INVALID_INITIAL_INSTRUCTION_VALUE", true, Internal, "The record is misconfigured.";
    /// A media that is not well defined.
    InvalidMedia = "E_INVALID_INITIAL_MEDIA_VALUE", true, Internal, "The media is misconfigured.";
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
        let mut error = Error::new(ErrorCode::InvalidToolArgs, faults.operator_text(subject));
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

    /// The error of ours that caused it, if one did: where an executor failed, why it did.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Error, ErrorCode, TurnRunner};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = TurnRunner::builder(|_: DispatchContext| async {
    ///     Err(Error::new(ErrorCode::ContextWindow, "too much").into())
    /// })
    /// .build()?;
    /// let error = runner.run("Hello").await.into_answer().unwrap_err();
    /// assert_eq!(error.code(), ErrorCode::Executor);
    /// assert_eq!(error.cause().map(Error::code), Some(ErrorCode::ContextWindow));
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn cause(&self) -> Option<&Error> {
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
        Error::new(ErrorCode::InvalidSchema, message).with_problems(error.into_problems())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
