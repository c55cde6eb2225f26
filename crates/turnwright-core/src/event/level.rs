//! Log levels.

use schemars::JsonSchema;
use serde::Serialize;

/// The level of a log entry.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::event::Level;
///
/// let ctx = DispatchContext::standalone();
/// ctx.log(Level::Warn, "the cache is not reachable: continuing without it");
/// assert!(Level::Warn > Level::Info);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
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
