//! Kinds of failures and stable error codes.

use std::fmt;

/// A stable error code.
///
/// The framework's codes are constants with the name of the code: [`ErrorCode::INVALID_TOOL_ARGS`] is `E_INVALID_TOOL_ARGS`. A
/// crate that adds a model server or a store can define its own codes:
///
/// ```
/// use turnwright_artifact::{Error, ErrorCode, ErrorKind};
///
/// const QUOTA_EXCEEDED: ErrorCode = ErrorCode::new("E_ACME_QUOTA_EXCEEDED", ErrorKind::RateLimited)
///     .with_meaning("The account has used up its quota.")
///     .with_model_text("The quota is used up. Do not retry today.");
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
            meaning: "The turn failed.",
            model_text: "The task could not be completed.",
        }
    }

    /// Marks the code as a programming error, which neither a retry nor other input can fix.
    #[must_use]
    pub const fn fatal(self) -> Self {
        ErrorCode {
            fatal: true,
            ..self
        }
    }

    /// Sets the meaning of the code, in plain words. Users of an application may read it.
    ///
    /// Default: "The turn failed."
    #[must_use]
    pub const fn with_meaning(self, meaning: &'static str) -> Self {
        ErrorCode { meaning, ..self }
    }

    /// Sets the text for the model, used if an error has no text of its own.
    ///
    /// Default: "The task could not be completed."
    #[must_use]
    pub const fn with_model_text(self, model_text: &'static str) -> Self {
        ErrorCode { model_text, ..self }
    }

    /// Returns the code as it appears in logs and records, for example `E_INVALID_TOOL_ARGS`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.name
    }

    /// Returns whether it is a programming error, which neither a retry nor other input can fix.
    #[must_use]
    pub const fn is_fatal(self) -> bool {
        self.fatal
    }

    /// Returns the kind of errors with this code, unless they set their own.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        self.kind
    }

    /// Returns the meaning of the code, in plain words. Users of an application may read it.
    ///
    /// ```
    /// use turnwright_artifact::ErrorCode;
    ///
    /// assert_eq!(ErrorCode::UNKNOWN_TOOL.meaning(), "No tool with this name exists in the registry.");
    /// ```
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.meaning
    }

    /// Returns the text for the model, used if an error has no text of its own.
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

/// Defines the framework's codes and the list of all codes from one table.
macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident, $fatal:literal, $kind:ident, $model:literal;)+) => {
        impl ErrorCode {
            $(
                $(#[doc = $doc])*
                pub const $name: ErrorCode = ErrorCode {
                    name: concat!("E_", stringify!($name)),
                    kind: ErrorKind::$kind,
                    fatal: $fatal,
                    // A doc comment starts with a space.
                    meaning: concat!($($doc),*).trim_ascii(),
                    model_text: $model,
                };
            )+

            /// The framework's codes, in the order of the table.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name,)+];
        }
    };
}

codes! {
    /// The schema cannot be enforced as written.
    INVALID_SCHEMA, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The definition of a tool is invalid.
    INVALID_INITIAL_TOOL_VALUE, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// Two tools have the same name.
    TOOL_ALREADY_REGISTERED, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The dispatch was already acknowledged or nacked.
    LLM_EXECUTION_ALREADY_SIGNALLED, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The configuration of the runner is inconsistent.
    INVALID_TURN_RUNNER_CONFIG, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The store, the spool and the secret do not fit together.
    INVALID_STORAGE, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The turn cannot be started as requested, or it has already ended.
    INVALID_TURN_CONTEXT, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The runner has no state of the requested type.
    MISSING_STATE, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The definition of a gate is invalid.
    INVALID_INITIAL_TURN_GATE_VALUE, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The gate does not accept this answer and stays open.
    INVALID_TURN_GATE_RESOLUTION, true, InvalidArguments, "The answer was not accepted.";
    /// The stash rejected a value or a path.
    INVALID_STASH_PATH, true, Internal, "The tool failed. No details are available.";
    /// The arguments are invalid. The handler did not run.
    INVALID_TOOL_ARGS, false, InvalidArguments, "Invalid arguments. The tool was not run.";
    /// No tool with this name exists in the registry.
    UNKNOWN_TOOL, false, NotFound, "Unknown tool. Nothing was run.";
    /// The call was not approved.
    TOOL_DENIED, false, Denied, "The call was not approved. The tool was not run. Do not repeat the call unless you are asked to.";
    /// The handler failed or panicked.
    TOOL_DOWNSTREAM_ERROR, false, Internal, "The tool failed. No details are available.";
    /// A result hook failed, so the result is neither stored nor shown.
    TOOL_RESULT_WITHHELD, false, Internal, "The tool ran, but its result was withheld.";
    /// The call exceeded its timeout.
    TOOL_TIMEOUT, false, Timeout, "The call timed out.";
    /// The call was cancelled.
    TOOL_CANCELLED, false, Cancelled, "The call was cancelled.";
    /// The store failed.
    STORE_ERROR, false, Unavailable, "The result could not be recorded. Try again later.";
    /// The result could not be stored.
    SPOOL_ERROR, false, Unavailable, "The tool ran, but its result could not be stored.";
    /// The turn was interrupted and is not running. It must be resumed.
    TURN_INTERRUPTED, false, Unavailable, "The task was interrupted.";
    /// The store has no such turn, or several conversations have a turn with this id.
    UNKNOWN_TURN, false, NotFound, "There is no such turn.";
    /// The conversation already has a turn with this id.
    TURN_EXISTS, false, InvalidArguments, "A turn with this id already exists.";
    /// Another process or task is running a turn of this conversation.
    TURN_HELD, false, Unavailable, "The conversation is in use. Try again later.";
    /// Another process has taken over the turn. This process must stop and writes nothing more.
    TURN_TAKEN_OVER, false, Cancelled, "The task was continued by another process.";
    /// The turn has ended, or its conversation has continued without it.
    TURN_NOT_RESUMABLE, false, InvalidArguments, "That turn cannot be resumed.";
    /// The turn is waiting for answers: answer at its gates and resume it, or abandon it.
    TURN_WAITING, false, Unavailable, "The task is waiting for an answer.";
    /// The turn cannot be suspended: its input names no conversation, or it runs under a call.
    TURN_NOT_SUSPENDABLE, false, InvalidArguments, "That turn cannot be suspended.";
    /// The conversation has no gate with this id.
    UNKNOWN_TURN_GATE, false, NotFound, "The gate does not exist.";
    /// The gate was already answered. The first answer counts.
    TURN_GATE_ANSWERED, false, InvalidArguments, "The gate was already answered.";
    /// The gate accepts no answer: its turn has ended or continued without one.
    TURN_GATE_CLOSED, false, InvalidArguments, "The gate is closed.";
    /// Middleware of the turn input failed.
    INPUT_PIPELINE_ERROR, false, Internal, "The task could not be completed.";
    /// Middleware of the turn output failed.
    OUTPUT_PIPELINE_ERROR, false, Internal, "The task could not be completed.";
    /// Middleware of a dispatch failed.
    DISPATCH_PIPELINE_ERROR, false, Internal, "The task could not be completed.";
    /// Middleware neither continued nor aborted the turn.
    PIPELINE_SHORT_CIRCUITED, false, Internal, "The task could not be completed.";
    /// The executor panicked or failed with a foreign error.
    LLM_EXECUTION_EXECUTOR_ERROR, false, Internal, "The task could not be completed.";
    /// The configuration of a model is invalid, for example its address or a parameter.
    INVALID_MODEL_CONFIG, true, Internal, "The tool is misconfigured. Do not call it again.";
    /// The model server could not be reached, or the connection broke.
    MODEL_UNREACHABLE, false, Unavailable, "The task could not be completed. Try again later.";
    /// The model server did not respond in time.
    MODEL_TIMEOUT, false, Timeout, "The task could not be completed. Try again later.";
    /// The model server returned an error.
    MODEL_SERVER_ERROR, false, Internal, "The task could not be completed.";
    /// The response of the model server cannot be read: it violates the protocol or is too large.
    WIRE_ERROR, false, Unavailable, "The task could not be completed. Try again later.";
    /// The response of the model was truncated.
    MODEL_RESPONSE_INCOMPLETE, false, Unavailable, "The response was truncated.";
    /// The prompt exceeds the context window of the model.
    CONTEXT_WINDOW_EXCEEDED, false, InvalidArguments, "The task is too large.";
    /// The model server does not support this media.
    UNSUPPORTED_MEDIA, false, InvalidArguments, "The media cannot be shown.";
    /// Fetching from this address is not allowed, for example because it is private.
    ADDRESS_DENIED, false, Denied, "Access to this address is denied.";
    /// The executor nacked the dispatch without an error.
    LLM_EXECUTION_NACKED, false, Denied, "The task was not carried out.";
    /// The model declined to answer.
    MODEL_DECLINED, false, Denied, "The model declined to answer.";
    /// No answer is possible at this gate.
    LLM_EXECUTION_GATE_NOT_SUPPORTED, false, Unavailable, "No one can answer here.";
    /// No answer was received in time.
    TURN_GATE_TIMEOUT, false, Timeout, "No answer was received in time.";
    /// The turn ended before the gate was answered.
    TURN_GATE_ABORTED, false, Cancelled, "The request was withdrawn before it was answered.";
    /// The request was rejected.
    TURN_GATE_REJECTED, false, Denied, "The request was rejected.";
    /// The turn was aborted or cancelled.
    TURN_ABORTED, false, Cancelled, "The task was aborted before it was completed.";
    /// The turn reached one of its limits.
    TURN_LIMIT, false, Unavailable, "The task reached a limit before it was completed.";
    /// The answer of the turn does not have the requested type.
    INVALID_ANSWER, false, InvalidArguments, "The answer was not accepted.";
    /// Middleware rejected the answer of the turn, and the model was not asked again.
    ANSWER_REJECTED, false, Denied, "The answer was rejected.";
    /// The bytes of an artifact could not be read.
    ARTIFACT_UNREADABLE, false, Unavailable, "The artifact could not be read. Try again later.";
    /// An artifact query is invalid, for example because of a bad pattern or path.
    ARTIFACT_QUERY, false, InvalidArguments, "Invalid artifact query.";
    /// The content of an artifact is not valid for its kind.
    ARTIFACT_MALFORMED, false, Internal, "The content of the artifact is malformed. Read it as text.";
    /// An artifact is too large for a query.
    ARTIFACT_TOO_LARGE, false, InvalidArguments, "The artifact is too large for this query. Read it as text.";
    /// Two artifacts have the same id.
    ARTIFACT_ID_COLLISION, false, Internal, "Two results have the same id, so neither can be read with it.";
    /// The record of a call is invalid.
    INVALID_INITIAL_TOOL_CALL_VALUE, true, Internal, "The record is invalid.";
    /// A message is invalid.
    INVALID_INITIAL_MESSAGE_VALUE, true, Internal, "The record is invalid.";
    /// A thought is invalid.
    INVALID_INITIAL_THOUGHT_VALUE, true, Internal, "The record is invalid.";
    /// A memory is invalid.
    INVALID_INITIAL_MEMORY_VALUE, true, Internal, "The record is invalid.";
    /// The metadata of a conversation is invalid.
    INVALID_INITIAL_CONVERSATION_INFO_VALUE, true, Internal, "The record is invalid.";
    /// A retrievable is invalid.
    INVALID_INITIAL_RETRIEVABLE_VALUE, true, Internal, "The record is invalid.";
    /// A standing instruction is invalid.
    INVALID_INITIAL_INSTRUCTION_VALUE, true, Internal, "The record is invalid.";
    /// Media are invalid.
    INVALID_INITIAL_MEDIA_VALUE, true, Internal, "The media are invalid.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
