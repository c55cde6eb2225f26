//! Calls that were refused before they ran.

use std::sync::Arc;

use super::guard::{CallGuard, report_refused};
use super::proposed::Call;
use crate::error::{Error, ErrorCode};
use crate::record::{CallState, Denial, Settled, ToolCall};

/// The stage of a call that was refused before it ran.
#[derive(Debug)]
pub(crate) struct Refused {
    error: Error,
    /// Why it was denied, if it was.
    denial: Option<Box<Denial>>,
}

impl<S> Call<S> {
    /// Refuses the call, and reports it. With a denial if a policy or an approver denied it.
    pub(super) fn refuse(self, error: Error, denial: Option<Denial>) -> Call<Refused> {
        report_refused(&self.ctx, &self.record, &error, denial.as_ref());
        self.enter(|_| Refused {
            error,
            denial: denial.map(Box::new),
        })
    }
}

impl Call<Refused> {
    /// Returns the result of the call.
    pub(super) fn settled(&self) -> Settled {
        let mut settled = Settled::refusal(self.stage.error.model_text());
        settled.denial.clone_from(&self.stage.denial);
        settled
    }

    /// Replaces the text for the model if a policy or an approver changed the arguments and the result is invalid: the model
    /// cannot fix that.
    pub(super) fn not_as_changed(mut self) -> Self {
        let for_model = "The call was not approved as proposed. The tool was not run. Its arguments were changed, and the changed arguments are invalid.";
        self.stage.error = self.stage.error.with_model_text(for_model);
        self
    }

    /// Returns why the call was refused.
    pub(super) fn into_error(self) -> Error {
        self.stage.error
    }

    /// Records the refused call, with the information that the model needs to try again. The guard is that of its open record,
    /// if it has one.
    pub(super) async fn settle(self, guard: Option<CallGuard>) -> Arc<ToolCall> {
        let settled = self.settled();
        let guard = guard.unwrap_or_else(|| CallGuard::new(&self.ctx, &self.short(), true));
        guard.settle(settled, CallState::Failed).await
    }

    /// Creates the record.
    pub(super) fn record(&self) -> Arc<ToolCall> {
        self.short().closed(self.settled())
    }

    /// Returns the open record with the arguments to keep. A valid call that was denied is kept in full.
    fn short(&self) -> Arc<ToolCall> {
        let record = Arc::clone(&self.record);
        match self.stage.error.code() {
            ErrorCode::INVALID_TOOL_ARGS | ErrorCode::UNKNOWN_TOOL => record.with_short_args(),
            _ => record,
        }
    }
}
