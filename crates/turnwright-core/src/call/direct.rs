//! Calls of a tool by the program itself, without a model.

use std::sync::Arc;

use super::batch::complete_one;
use crate::error::Error;
use crate::record::ToolCall;
use crate::schema::RawArgs;
use crate::tool::context::{Call, DispatchContext};
use crate::tool::{Tool, ToolOutput};

impl Tool {
    /// Calls this tool and returns the output of its handler. The arguments are checked, policies and approvers decide, and the
    /// handler runs, as for a call of a model. The call is not recorded.
    ///
    /// `max_result_bytes` does not apply: the caller reads a streamed output and can stop at any time.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{DispatchContext, Tool, ToolContext};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let ping = Tool::dynamic("ping", json!({ "type": "object" }))
    ///     .description("Answers.")
    ///     .handler(|_: Value, _: ToolContext| async { "pong" })
    ///     .build()?;
    /// let output = ping.call(&DispatchContext::standalone(), "{}").await?;
    /// assert_eq!(output.as_text(), Some("pong"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arguments are invalid (`E_INVALID_TOOL_ARGS`), the call was denied, or the handler failed, timed
    /// out or was cancelled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the handler's future is dropped with it. A blocking handler is detached.
    pub async fn call(
        &self,
        ctx: &DispatchContext,
        args: impl Into<RawArgs>,
    ) -> Result<ToolOutput, Error> {
        let proposed = self.propose(ctx, args.into()).unrecorded();
        let checked = proposed.check_alone(Some(self.clone()));
        let checked = checked.map_err(Call::into_error)?;
        let checked = checked.ask_external().await;
        let checked = checked.map_err(Call::into_error)?;
        let admitted = checked.admit().await.map_err(Call::into_error)?;
        admitted.run().await.into_result().await
    }

    /// Calls this tool and returns the record of the call, which is added to the turn and stored. Every result is in the record,
    /// including invalid arguments, a denial or a failure.
    ///
    /// To call a tool of the turn by name, use [`DispatchContext::call`].
    pub async fn call_and_record(
        &self,
        ctx: &DispatchContext,
        args: impl Into<RawArgs>,
    ) -> Arc<ToolCall> {
        complete_one(self.propose(ctx, args.into()), Some(self.clone())).await
    }

    fn propose(&self, ctx: &DispatchContext, args: RawArgs) -> Call {
        Call::new(ctx.clone(), Arc::clone(self.shared_name()), args)
    }
}
