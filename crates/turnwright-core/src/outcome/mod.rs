//! The outcome of a turn.

mod turn_held;

use std::fmt;
use std::sync::Arc;

pub use crate::record::Limit;
pub use turn_held::TurnHeld;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, ErrorCode};
use crate::gate::{OpenGate, TurnWaiting};
use crate::record::{
    EndReason, Message, Record, RecordType, Thought, ToolCall, TurnFailure, TurnState,
};
use crate::usage::Usage;

/// The outcome of a turn: how it ended, its text, its records and its usage.
///
/// ```
/// use turnwright_core::{DispatchContext, TurnStatus};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.answer("Done.").await?;
///     Ok(())
/// })
/// .build()?;
/// let outcome = runner.run("Start!").await;
/// assert!(matches!(outcome.status, TurnStatus::Answered));
/// assert_eq!(outcome.text, "Done.");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct TurnOutcome {
    /// The turn id.
    pub turn_id: Arc<str>,
    /// The conversation id. A generated id if the input named none; nothing is stored under it.
    pub conversation: Arc<str>,
    /// How the turn ended.
    pub status: TurnStatus,
    /// The last complete message of the model in this turn. Empty if there is none.
    pub text: String,
    /// The typed answer, or why it does not match. `None` if there is no answer, or if the input has no answer type.
    pub(crate) typed: Option<Result<Value, Error>>,
    /// The records of the turn, in order. For a named conversation, these are the records in the store, except bookkeeping
    /// ([`RecordKind::is_bookkeeping`](crate::record::RecordKind::is_bookkeeping)).
    pub records: Vec<Record>,
    /// Token usage.
    pub usage: Usage,
    /// Number of iterations, over all dispatches.
    pub iterations: u32,
}

/// How a turn ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TurnStatus {
    /// The dispatch was acknowledged.
    Answered,
    /// The dispatch was nacked, with this error.
    Nacked(Error),
    /// The turn was aborted or cancelled.
    #[non_exhaustive]
    Aborted {
        /// The reason.
        reason: String,
    },
    /// The turn failed.
    Failed(Error),
    /// The turn reached a limit.
    Limit(Limit),
    /// The turn was suspended: everything is stored, and no process is running it.
    /// [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate) answers at a gate and continues it. A turn without gates is
    /// continued with [`TurnRunner::resume`](crate::TurnRunner::resume).
    #[non_exhaustive]
    Suspended {
        /// The gates at which it waits. Empty if it was suspended between two iterations.
        gates: Vec<OpenGate>,
    },
}

/// Why a turn stops early.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    Aborted(String),
    Limit(Limit),
    Failed(Error),
}

impl Limit {
    /// Converts to an error, for callers that expect an answer.
    pub(crate) fn to_error(&self) -> Error {
        Error::new(ErrorCode::TURN_LIMIT, format!("the turn reached {self}"))
    }
}

impl TurnOutcome {
    /// Creates the outcome of a turn that could not start.
    pub(crate) fn not_started(turn_id: Arc<str>, conversation: Arc<str>, error: Error) -> Self {
        TurnOutcome {
            turn_id,
            conversation,
            status: TurnStatus::Failed(error),
            text: String::new(),
            typed: None,
            records: Vec::new(),
            usage: Usage::default(),
            iterations: 0,
        }
    }

    /// Returns whether the model answered.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        matches!(self.status, TurnStatus::Answered)
    }

    /// Returns the gates at which a suspended turn waits. They are open in the store. Empty for a turn that was not suspended.
    #[must_use]
    pub fn open_gates(&self) -> &[OpenGate] {
        match &self.status {
            TurnStatus::Suspended { gates } => gates,
            _ => &[],
        }
    }

    /// Returns whether the turn was suspended and can be resumed.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        matches!(self.status, TurnStatus::Suspended { .. })
    }

    /// Returns why there is no answer, if there is none. For a suspended turn this is `E_TURN_WAITING`, with a
    /// [`TurnWaiting`](crate::gate::TurnWaiting) as its cause.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        match &self.status {
            TurnStatus::Suspended { gates } => {
                let waiting = TurnWaiting {
                    conversation: Arc::clone(&self.conversation),
                    turn_id: Arc::clone(&self.turn_id),
                    gates: gates.clone(),
                };
                Some(waiting.into_error(
                    "answer with `runner.answer_gate`, or `resume` it if every gate has its answer",
                ))
            }
            ended => ended.error(),
        }
    }

    /// Returns the answer.
    ///
    /// # Errors
    /// Returns why there is none: the error with which the turn was nacked or failed, `E_TURN_ABORTED`, `E_TURN_LIMIT` or
    /// `E_TURN_WAITING`.
    #[doc(alias("response", "output", "text"))]
    pub fn into_answer(self) -> Result<String, Error> {
        match self.error() {
            None => Ok(self.text),
            Some(error) => Err(error),
        }
    }

    /// Returns the typed answer of a turn whose input has an answer type: see [`TurnInput::answer`](crate::TurnInput::answer).
    /// [`text`](Self::text) is the answer as the model sent it: JSON, wrapped in
    /// an object if the type is not one.
    ///
    /// # Errors
    /// See [`into_answer`](Self::into_answer). Also returns `E_INVALID_ANSWER` if no answer of the model matched the type, or if
    /// the input has no answer type.
    pub fn answer<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if let Some(error) = self.error() {
            return Err(error);
        }
        let invalid = |message: &str| Error::new(ErrorCode::INVALID_ANSWER, message);
        let untyped = "the turn has no typed answer: set its type with `TurnInput::answer`";
        let value = self.typed.clone().ok_or_else(|| invalid(untyped))??;
        let unread = "the answer matches its schema but cannot be deserialised";
        serde_json::from_value(value).map_err(|why| invalid(unread).with_source(why))
    }

    /// Iterates over the messages of this turn, of all authors.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.records.iter().filter_map(RecordType::of)
    }

    /// Iterates over the thoughts of the model in this turn.
    pub fn thoughts(&self) -> impl Iterator<Item = &Arc<Thought>> {
        self.records.iter().filter_map(RecordType::of)
    }

    /// Iterates over the calls of this turn.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.records.iter().filter_map(RecordType::of)
    }
}

impl TurnStatus {
    /// Returns the name used in events and records.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.state().as_str()
    }

    /// Returns why there is no answer, as an error.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        match self {
            TurnStatus::Answered => None,
            TurnStatus::Nacked(error) | TurnStatus::Failed(error) => Some(error.clone()),
            TurnStatus::Aborted { reason } => Some(Error::new(
                ErrorCode::TURN_ABORTED,
                format!("the turn was aborted: {reason}"),
            )),
            TurnStatus::Limit(limit) => Some(limit.to_error()),
            TurnStatus::Suspended { gates } => {
                let message = format!("the turn is suspended and waits at {} gates", gates.len());
                Some(Error::new(ErrorCode::TURN_WAITING, message))
            }
        }
    }

    pub(crate) const fn state(&self) -> TurnState {
        match self {
            TurnStatus::Answered => TurnState::Answered,
            TurnStatus::Nacked(_) => TurnState::Nacked,
            TurnStatus::Aborted { .. } => TurnState::Aborted,
            TurnStatus::Failed(_) => TurnState::Failed,
            TurnStatus::Limit(_) => TurnState::Limit,
            TurnStatus::Suspended { .. } => TurnState::Suspended,
        }
    }

    pub(crate) fn failure(&self) -> Option<TurnFailure> {
        self.error().map(|error| TurnFailure {
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
            meaning: match self {
                TurnStatus::Failed(_) | TurnStatus::Nacked(_) => {
                    Some(error.code().meaning().to_owned())
                }
                _ => None,
            },
            reason: match self {
                TurnStatus::Aborted { reason } => Some(EndReason::Aborted(reason.clone())),
                TurnStatus::Limit(limit) => Some(EndReason::Limit(limit.clone())),
                _ => None,
            },
        })
    }
}

impl fmt::Display for TurnStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error() {
            None => f.write_str(self.as_str()),
            Some(error) => write!(f, "{}: {error}", self.as_str()),
        }
    }
}

impl From<Stop> for TurnStatus {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Aborted(reason) => TurnStatus::Aborted { reason },
            Stop::Limit(limit) => TurnStatus::Limit(limit),
            Stop::Failed(error) => TurnStatus::Failed(error),
        }
    }
}

debug_fields!(TurnOutcome {
    turn_id,
    status,
    usage
});
