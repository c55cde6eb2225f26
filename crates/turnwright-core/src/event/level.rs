//! How much a word to operators matters.

use std::fmt;

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

impl Level {
    /// The name under which it is serialised.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
