//! One tool, tried by itself.

use std::sync::Arc;

use super::batch::complete_one;
use super::proposed::{ProposedCall, RefusedCall};
use crate::error::Error;
use crate::record::ToolCall;
use crate::schema::RawArgs;
use crate::tool::context::DispatchContext;
use crate::tool::{Tool, ToolOutput};

/// Runs calls of one tool through the whole call path: see [`Tool::executor`].
#[derive(Clone, Debug)]
pub struct ToolExecutor {
    tool: Tool,
    ctx: DispatchContext,
}

impl ToolExecutor {
    fn propose(&self, args: impl Into<RawArgs>) -> ProposedCall {
        ProposedCall::new(
            self.ctx.clone(),
            Arc::clone(self.tool.shared_name()),
            args.into(),
        )
    }

    /// Checks, admits and runs a call; gives what the handler gave, as it is. `max_result_bytes` applies to calls that are
    /// settled, not here: a stream is yours to read, and to stop.
    ///
    /// # Errors
    /// The call was refused, or the handler failed.
    pub async fn call(&self, args: impl Into<RawArgs>) -> Result<ToolOutput, Error> {
        let proposed = self.propose(args).unrecorded();
        let checked = proposed.check_alone(Some(self.tool.clone()));
        let checked = checked.map_err(RefusedCall::into_error)?;
        let checked = checked.ask_external().await;
        let checked = checked.map_err(RefusedCall::into_error)?;
        let admitted = checked.admit().await.map_err(RefusedCall::into_error)?;
        admitted.run().await.into_result().await
    }

    /// Takes a call all the way to its record, which becomes one of the dispatch's.
    pub async fn settle(&self, args: impl Into<RawArgs>) -> Arc<ToolCall> {
        complete_one(self.propose(args), Some(self.tool.clone())).await
    }
}

impl Tool {
    /// Runs calls of this tool one at a time, through the whole call path, without a model.
    #[must_use]
    pub fn executor(&self, ctx: &DispatchContext) -> ToolExecutor {
        ToolExecutor {
            tool: self.clone(),
            ctx: ctx.clone(),
        }
    }
}
