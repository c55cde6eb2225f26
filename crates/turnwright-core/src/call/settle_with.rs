//! Calls that ran elsewhere.

use std::sync::Arc;

use tokio::time::Instant;

use super::guard::CallGuard;
use super::proposed::ProposedCall;
use super::run::RawOutcome;
use crate::record::{CallState, ToolCall};
use crate::tool::context::{CallFacts, Checked};
use crate::tool::{IntoToolResult, Tool};

impl ProposedCall {
    /// Settles the call with an external result: of a tool that the model server ran, of a cache, or of another process. Nothing
    /// is checked, approved or run.
    ///
    /// The result becomes a record of the turn like that of a handler: large content goes to the spool, and the model reads it
    /// inside an envelope. If the dispatch has a tool of that name, its artifact kind, inline rule and size limit apply. The
    /// result is never trusted. `Err(ToolError)` becomes a failed call. Result hooks ([`ResultHook`](crate::tool::ResultHook))
    /// see the result first.
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let ctx = DispatchContext::standalone();
    /// // The model server has searched the web itself:
    /// let call = ctx
    ///     .propose("web_search", r#"{"query": "rust 1.95"}"#)
    ///     .settle_with("Rust 1.95 was released on 16 April 2026.")
    ///     .await;
    /// assert!(call.is_complete() && !call.is_trusted());
    /// assert_eq!(call.text().await.as_deref(), Some("Rust 1.95 was released on 16 April 2026."));
    /// # });
    /// ```
    pub async fn settle_with(self, result: impl IntoToolResult) -> Arc<ToolCall> {
        let result = result.into_tool_result();
        let call = self.into_call();
        let own = call.ctx.tools().get(&call.name);
        let tool = Tool::external(&call.name, own.as_ref());
        let result = match result {
            Ok(output) => Ok(output.untrusted()),
            Err(error) => Err(error.into_error(&call.name)),
        };
        let checksum = call.checksum();
        let mut guard = CallGuard::new(
            &call.ctx,
            Some(ToolCall::open(call.request.clone(), checksum)),
        );
        guard.mark_started(&tool, None, None);
        guard.started();
        let checked = Checked {
            args: tool.any_args(&call.raw),
            call,
            tool,
            checksum,
            edited: false,
        };
        let outcome = RawOutcome {
            facts: Arc::new(CallFacts::new(Box::new(checked), Instant::now())),
            result,
            guard: Some(guard),
            state: CallState::Done,
            started: true,
        };
        Box::pin(async { outcome.through_hooks().await.settle().await }).await
    }
}
