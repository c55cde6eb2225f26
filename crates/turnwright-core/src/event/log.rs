//! Log entries for operators.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

names! {
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
    #[non_exhaustive]
    pub enum Level {
        /// Details for debugging.
        Debug = "debug",
        /// Normal operation.
        Info = "info",
        /// Something unusual that an operator should look at.
        Warn = "warn",
        /// A failure.
        Error = "error",
    }
}

/// A log entry for operators: a text, and optionally a kind and data for programs. A text alone converts into it.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::DispatchContext;
/// use turnwright_core::event::{Level, LogEntry};
///
/// let ctx = DispatchContext::standalone();
/// ctx.log(Level::Info, "the cache was empty");
/// let entry = LogEntry::new("the cache was empty")
///     .kind("cache.miss")
///     .payload(json!({ "key": "weather/Paris" }));
/// ctx.log(Level::Info, entry);
/// ```
#[must_use = "an entry does nothing until it is logged"]
pub struct LogEntry {
    pub(crate) message: String,
    pub(crate) kind: Option<Cow<'static, str>>,
    pub(crate) payload: Option<Value>,
}

impl LogEntry {
    /// Creates an entry with this text.
    pub fn new(message: impl Into<String>) -> Self {
        LogEntry {
            message: message.into(),
            kind: None,
            payload: None,
        }
    }

    /// Sets the kind of entry, for filters: `cache.miss`.
    ///
    /// Default: none.
    pub fn kind(mut self, kind: impl Into<Cow<'static, str>>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets data for programs.
    ///
    /// Default: none.
    pub fn payload(mut self, payload: impl Into<Value>) -> Self {
        self.payload = Some(payload.into());
        self
    }
}

impl<T: Into<String>> From<T> for LogEntry {
    fn from(message: T) -> Self {
        LogEntry::new(message)
    }
}

// The text and the data may be secret.
debug_fields!(LogEntry { kind });
