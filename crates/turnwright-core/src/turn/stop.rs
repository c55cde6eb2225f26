//! What ends a turn before its time.

use std::fmt;
use std::time::Duration;

use super::TurnContext;
use crate::error::{Error, ErrorCode};

/// A limit that a turn came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// So many iterations.
    Iterations(u32),
    /// So many tokens.
    Tokens(u64),
    /// So much time.
    Time(Duration),
    /// The same call, so often.
    RepeatedCall {
        /// The tool's name.
        tool: String,
        /// How often.
        times: u32,
    },
    /// One of yours.
    Other(String),
}

/// Why a turn stops before its time.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    Aborted(String),
    Limit(Limit),
    Failed(Error),
}

impl TurnContext {
    /// Ends the turn: nothing more is begun, what runs is cut off, and the outcome says `aborted` with this reason. The first
    /// reason counts.
    pub fn abort(&self, reason: impl Into<String>) {
        self.stop(Stop::Aborted(reason.into()));
    }

    /// Ends the turn because it came to a limit.
    pub fn reach(&self, limit: Limit) {
        self.stop(Stop::Limit(limit));
    }

    /// Ends the turn because it cannot go on.
    pub(crate) fn fail(&self, error: Error) {
        self.stop(Stop::Failed(error));
    }

    /// Why what ran is cut off.
    #[cfg(feature = "tracing")]
    pub(crate) fn stop_code(&self) -> ErrorCode {
        match &*self.stop_cell().lock() {
            Some(Stop::Failed(error)) => error.code(),
            Some(Stop::Limit(_)) => ErrorCode::TurnLimit,
            Some(Stop::Aborted(_)) | None => ErrorCode::TurnAborted,
        }
    }

    fn stop(&self, why: Stop) {
        self.stop_cell().lock().get_or_insert(why);
        self.cancellation().cancel();
    }
}

impl Limit {
    /// As an error, for whoever wanted an answer.
    pub(super) fn to_error(&self) -> Error {
        Error::new(ErrorCode::TurnLimit, format!("the turn came to {self}"))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Iterations(most) => write!(f, "its limit of {most} iterations"),
            Limit::Tokens(most) => write!(f, "its limit of {most} tokens"),
            Limit::Time(most) => write!(f, "its limit of {most:?}"),
            Limit::RepeatedCall { tool, times } => {
                write!(f, "the same call of `{tool}` {times} times")
            }
            Limit::Other(what) => write!(f, "a limit: {what}"),
        }
    }
}
