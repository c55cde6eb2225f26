//! What a turn says to operators.

use crate::event::{EventKind, Level};
use crate::telemetry;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Says something to operators.
    pub fn log(&self, level: Level, message: impl Into<String>) {
        let words = telemetry::log(self, level, message);
        self.tell(|| EventKind::Log {
            level,
            message: words.into_string(),
        });
    }

    /// Emits a [`Warning`](crate::event::EventKind::Warning) event: an operator should look at something that stopped nothing.
    pub fn warn(&self, message: impl Into<String>) {
        let words = telemetry::warning(self, message);
        self.tell(|| EventKind::Warning {
            message: words.into_string(),
        });
    }
}
