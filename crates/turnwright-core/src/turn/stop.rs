//! Ends a turn early.

use crate::error::Error;
use crate::error::ErrorCode;
use crate::outcome::{Limit, Stop};
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Aborts the turn: nothing more is started, running work is interrupted, and the outcome is `aborted` with this reason. The
    /// first reason counts.
    pub fn abort(&self, reason: impl Into<String>) {
        self.stop(Stop::Aborted(reason.into()));
    }

    /// Ends the turn because it reached a limit.
    pub fn end_at_limit(&self, limit: Limit) {
        self.stop(Stop::Limit(limit));
    }

    /// Ends the turn with an error.
    pub(crate) fn fail(&self, error: Error) {
        self.stop(Stop::Failed(error));
    }

    /// Returns the code for work that is interrupted.
    pub(crate) fn stop_code(&self) -> ErrorCode {
        match self.limits().stopped() {
            Some(Stop::Failed(error)) => error.code(),
            Some(Stop::Limit(_)) => ErrorCode::TURN_LIMIT,
            Some(Stop::Aborted(_)) | None => ErrorCode::TURN_ABORTED,
        }
    }

    fn stop(&self, why: Stop) {
        self.limits().stop(why);
        self.cancellation().cancel();
    }
}
