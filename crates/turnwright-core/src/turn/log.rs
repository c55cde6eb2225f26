//! What a turn says to operators.

use crate::event::{EventKind, Level};
use crate::telemetry;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Says something to operators.
    pub fn log(&self, level: Level, message: impl Into<String>) {
        if !self.is_logged(level) {
            return;
        }
        let message = message.into();
        telemetry::log(self, level, &message);
        self.tell(|| EventKind::Log { level, message });
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
