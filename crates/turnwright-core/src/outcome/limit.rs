//! Limits of a turn.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, ErrorCode};

/// A limit that a turn reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The iteration limit of the runner.
    Iterations(u32),
    /// The tokens of the [`Budget`](crate::Budget) of this turn or an outer turn.
    Tokens(u64),
    /// The tool calls of the [`Budget`](crate::Budget) of this turn or an outer turn.
    ToolCalls(u64),
    /// The time of the turn's [`Budget`](crate::Budget).
    Time(Duration),
    /// The same call was made too many times.
    RepeatedCall {
        /// The name of the tool.
        tool: String,
        /// How many times.
        times: u32,
    },
    /// A custom limit.
    Other(String),
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

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Iterations(most) => write!(f, "its limit of {most} iterations"),
            Limit::Tokens(most) => write!(f, "its budget of {most} tokens"),
            Limit::ToolCalls(most) => write!(f, "its budget of {most} tool calls"),
            Limit::Time(most) => write!(f, "its time budget of {most:?}"),
            Limit::RepeatedCall { tool, times } => {
                write!(
                    f,
                    "its limit for repeated calls: `{tool}` was called {times} times with the same arguments"
                )
            }
            Limit::Other(what) => write!(f, "a limit: {what}"),
        }
    }
}
