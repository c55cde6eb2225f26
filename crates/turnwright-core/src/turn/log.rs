//! Log messages and warnings of a turn.

use crate::event::{EventKind, Level, LogEntry};
use crate::telemetry;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Logs a message for operators: a text, or a [`LogEntry`] with a kind and data.
    pub fn log(&self, level: Level, entry: impl Into<LogEntry>) {
        if !self.is_logged(level) {
            return;
        }
        let LogEntry {
            message,
            kind,
            payload,
        } = entry.into();
        telemetry::log(self, level, &message);
        self.emit(|| EventKind::Log {
            level,
            kind,
            message,
            payload,
        });
    }

    /// Emits a [`Warning`](crate::event::EventKind::Warning) event: an operator should look at something, but the turn continues.
    pub fn warn(&self, message: impl Into<String>) {
        if !self.is_logged(Level::Warn) {
            return;
        }
        let message = message.into();
        telemetry::warning(self, &message);
        self.emit(|| EventKind::Warning { message });
    }

    /// Returns whether messages of this level have a receiver. Otherwise they are not formatted.
    fn is_logged(&self, level: Level) -> bool {
        telemetry::is_traced(level) || self.events().is_observed()
    }
}
