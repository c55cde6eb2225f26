//! What ends a turn before its time.

use crate::error::Error;
#[cfg(feature = "tracing")]
use crate::error::ErrorCode;
use crate::outcome::{Limit, Stop};
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Ends the turn: nothing more is begun, what runs is cut off, and the outcome says `aborted` with this reason. The first
    /// reason counts.
    pub fn abort(&self, reason: impl Into<String>) {
        self.stop(Stop::Aborted(reason.into()));
    }

    /// Ends the turn because it came to a limit.
    pub fn reach(&self, limit: Limit) {
        self.stop(Stop::Limit(limit));
    }

    /// Ends the turn because it cannot go on.
    pub(crate) fn fail(&self, error: Error) {
        self.stop(Stop::Failed(error));
    }

    /// Why what ran is cut off.
    #[cfg(feature = "tracing")]
    pub(crate) fn stop_code(&self) -> ErrorCode {
        match &*self.inner().stop.lock() {
            Some(Stop::Failed(error)) => error.code(),
            Some(Stop::Limit(_)) => ErrorCode::TURN_LIMIT,
            Some(Stop::Aborted(_)) | None => ErrorCode::TURN_ABORTED,
        }
    }

    fn stop(&self, why: Stop) {
        self.inner().stop.lock().get_or_insert(why);
        self.cancellation().cancel();
    }
}
