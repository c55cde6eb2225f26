//! How much a word to operators matters.

use serde::Serialize;

/// How much a word to operators matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// Good to know.
    Info,
    /// Look at this.
    Warn,
    /// This went wrong.
    Error,
}

names!(Level {
    Debug = "debug",
    Info = "info",
    Warn = "warn",
    Error = "error",
});
