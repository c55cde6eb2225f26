//! What a turn says to operators.

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
        self.tell(|| EventKind::Log {
            level,
            kind,
            message,
            payload,
        });
    }

    /// Emits a [`Warning`](crate::event::EventKind::Warning) event: an operator should look at something that stopped nothing.
    pub fn warn(&self, message: impl Into<String>) {
        if !self.is_logged(Level::Warn) {
            return;
        }
        let message = message.into();
        telemetry::warning(self, &message);
        self.tell(|| EventKind::Warning { message });
    }

    /// Whether a message of this level has a receiver. Without one it is not formatted.
    fn is_logged(&self, level: Level) -> bool {
        telemetry::is_traced(level) || self.events().is_observed()
    }
}
