//! Calls that ran elsewhere.

use std::sync::Arc;

use tokio::time::Instant;

use super::guard::CallGuard;
use super::run::Ran;
use crate::record::{CallState, ToolCall};
use crate::tool::context::{Call, Proposed, Running};
use crate::tool::{IntoToolResult, Tool};

impl Call<Proposed> {
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
        let name = &self.request.name;
        let own = self.ctx.tools().get(name);
        let tool = Tool::external(name, own.as_ref());
        let result = match result {
            Ok(output) => Ok(output.untrusted()),
            Err(error) => Err(error.into_error(name)),
        };
        let checksum = self.request.checksum();
        let open = ToolCall::open((*self.request).clone(), checksum);
        let mut guard = CallGuard::new(&self.ctx, Some(open));
        guard.mark_started(&tool, None, None);
        guard.started();
        let args = tool.any_args(&self.request.raw);
        let running = Running::new((tool, args), checksum, false, Instant::now());
        let ran = Ran {
            call: Arc::new(self.enter(|Proposed| running)),
            result,
            guard: Some(guard),
            state: CallState::Done,
            started: true,
        };
        Box::pin(async { ran.through_hooks().await.settle().await }).await
    }
}
