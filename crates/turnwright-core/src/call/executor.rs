//! One tool, tried by itself.

use std::sync::Arc;

use super::proposed::ProposedCall;
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
    pub(crate) fn new(tool: Tool, ctx: DispatchContext) -> Self {
        ToolExecutor { tool, ctx }
    }

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
        let checked = match proposed.check_for(self.tool.clone()).await {
            Ok(checked) => checked,
            Err(refused) => return Err(refused.into_error()),
        };
        match checked.admit().await {
            Ok(admitted) => admitted.run().await.into_result().await,
            Err(refused) => Err(refused.into_error()),
        }
    }

    /// Takes a call all the way to its record, which becomes one of the dispatch's.
    pub async fn settle(&self, args: impl Into<RawArgs>) -> Arc<ToolCall> {
        self.propose(args).complete_for(self.tool.clone()).await
    }
}

impl Tool {
    /// Runs calls of this tool one at a time, through the whole call path, without a model.
    #[must_use]
    pub fn executor(&self, ctx: &DispatchContext) -> ToolExecutor {
        ToolExecutor::new(self.clone(), ctx.clone())
    }
}
