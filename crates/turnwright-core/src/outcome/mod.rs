//! What came of a turn.

mod limit;

use std::fmt;
use std::sync::Arc;

pub use limit::Limit;

pub(crate) use limit::Stop;

use crate::error::{Error, ErrorCode};
use crate::gate::{OpenGate, TurnWaiting};
use crate::record::{Message, Record, RecordType, Thought, ToolCall, TurnFailure, TurnState};
use crate::usage::Usage;

/// What came of a turn: how it ended, what was said, what was stored, what it used.
#[derive(Clone)]
#[non_exhaustive]
pub struct TurnOutcome {
    /// The turn.
    pub turn_id: Arc<str>,
    /// The conversation that it belongs to. A generated id if the input named none; nothing is stored under it.
    pub conversation: Arc<str>,
    /// How it ended.
    pub ended: TurnStatus,
    /// The last words of the model in this turn, complete ones; empty if there are none.
    pub text: String,
    /// What the turn stored, in order: what the store holds of it if its conversation was named, save for the books that it keeps
    /// ([`RecordKind::is_bookkeeping`](crate::record::RecordKind::is_bookkeeping)).
    pub records: Vec<Record>,
    /// What it used of the model.
    pub usage: Usage,
    /// The iterations that it took, of all its dispatches.
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
    /// It was aborted, or called off from outside.
    #[non_exhaustive]
    Aborted {
        /// Why.
        reason: String,
    },
    /// It could not go on.
    Failed(Error),
    /// It came to a limit.
    Limit(Limit),
    /// It was suspended: everything is stored, and no process runs it. [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate)
    /// answers at a gate and continues it. One without gates is continued by [`TurnRunner::resume`](crate::TurnRunner::resume).
    #[non_exhaustive]
    Suspended {
        /// The gates where it waits. Empty if it was suspended between two iterations.
        gates: Vec<OpenGate>,
    },
}

impl TurnOutcome {
    /// Of a turn of which nothing is left but why.
    pub(crate) fn unbegun(turn_id: Arc<str>, conversation: Arc<str>, error: Error) -> Self {
        TurnOutcome {
            turn_id,
            conversation,
            ended: TurnStatus::Failed(error),
            text: String::new(),
            records: Vec::new(),
            usage: Usage::default(),
            iterations: 0,
        }
    }

    /// Whether the model answered.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        matches!(self.ended, TurnStatus::Answered)
    }

    /// The gates where a suspended turn waits. They are open in the store. Empty for a turn that was not suspended.
    #[must_use]
    pub fn open_gates(&self) -> &[OpenGate] {
        match &self.ended {
            TurnStatus::Suspended { gates } => gates,
            _ => &[],
        }
    }

    /// Whether it was suspended, and can be resumed.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        matches!(self.ended, TurnStatus::Suspended { .. })
    }

    /// Why there is no answer, if there is none. For a suspended turn that is `E_TURN_WAITING`, with a
    /// [`TurnWaiting`](crate::gate::TurnWaiting) as its cause.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        match &self.ended {
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

    /// The answer, or why there is none.
    ///
    /// # Errors
    /// The error that it was nacked or failed with, `E_TURN_ABORTED`, `E_TURN_LIMIT` or `E_TURN_WAITING`.
    pub fn into_answer(self) -> Result<String, Error> {
        match self.error() {
            None => Ok(self.text),
            Some(error) => Err(error),
        }
    }

    /// What was said in this turn, by whomever.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.records.iter().filter_map(RecordType::of)
    }

    /// What the model thought in this turn.
    pub fn thoughts(&self) -> impl Iterator<Item = &Arc<Thought>> {
        self.records.iter().filter_map(RecordType::of)
    }

    /// The calls of this turn.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.records.iter().filter_map(RecordType::of)
    }
}

impl TurnStatus {
    /// The name under which it is told.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.state().as_str()
    }

    /// Why there is no answer, as an error.
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
        })
    }
}

impl fmt::Display for TurnStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error() {
            None => f.write_str(self.name()),
            Some(error) => write!(f, "{}: {error}", self.name()),
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
    ended,
    usage
});
