//! Log levels.

use serde::Serialize;

/// The level of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Something unusual that an operator should look at.
    Warn,
    /// A failure.
    Error,
}

names!(Level {
    Debug = "debug",
    Info = "info",
    Warn = "warn",
    Error = "error",
});
