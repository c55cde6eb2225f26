//! The limits of a turn.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::stored::part;

/// A limit that a turn reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Limit {
    /// The iteration limit of the runner.
    Iterations(u32),
    /// The tokens of the [`Budget`](crate::Budget) of this turn or an outer turn.
    Tokens(u64),
    /// The tool calls of the [`Budget`](crate::Budget) of this turn or an outer turn.
    ToolCalls(u64),
    /// The time of the turn's [`Budget`](crate::Budget).
    #[serde(rename = "timeMs", with = "part")]
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
