//! Hooks between a handler and the record of its call.

use async_trait::async_trait;

use super::output::{Content, ToolOutput};
use crate::error::BoxError;
use crate::spool::Body;
use crate::tool::context::ToolContext;

/// Changes results before they are stored, shown in events or sent to the model, for example to redact secrets. Implemented for
/// async closures that take a [`ToolContext`] and a [`ToolOutput`].
///
/// Add hooks with [`TurnRunnerBuilder::on_result`](crate::runner::TurnRunnerBuilder::on_result) and
/// [`ToolBuilder::on_result`](crate::ToolBuilder::on_result). The hooks of the tool run first, then those of the runner, in the
/// order in which they were added. They also see results that were reconciled on a resume, results of
/// [`Call::settle_with`](crate::call::Call::settle_with) and results of artifact tools. They do not see records
/// that the program stores itself.
///
/// If a hook fails, panics or exceeds the timeout of the tool, the call fails with `E_TOOL_RESULT_WITHHELD`, and the result is
/// discarded. The error of the hook is not shown either, because it may quote the result: log it in the hook.
///
/// Hooks do not see arguments, progress messages, logs, or the texts of refused calls.
///
/// ```
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolOutput, ToolRegistry};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let whoami = Tool::dynamic("whoami", json!({ "type": "object" }))
///     .description("Shows the login.")
///     .handler(|_: Value, _: ToolContext| async { "user=ada token=s3cret" })
///     .build()?;
/// let ctx = DispatchContext::builder()
///     .tools(ToolRegistry::new([whoami])?)
///     .on_result(|_: ToolContext, output: ToolOutput| async move {
///         Ok(output.map_text(|text| text.replace("s3cret", "***")))
///     })
///     .build();
/// let call = ctx.call("whoami", "{}").await;
/// assert_eq!(call.text().await.as_deref(), Some("user=ada token=***"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a result hook",
    note = "use a closure `|ctx: ToolContext, output: ToolOutput| async move {{ Ok(output) }}` whose error is `BoxError`, or implement `ResultHook`"
)]
pub trait ResultHook: Send + Sync {
    /// Returns the output that replaces `output`.
    ///
    /// A stream has not been read yet. Return a stream that wraps it, so that the result is not held in memory. A hook cannot
    /// raise the trust of an output.
    ///
    /// # Errors
    /// Any error withholds the result.
    async fn on_output(&self, ctx: ToolContext, output: ToolOutput)
    -> Result<ToolOutput, BoxError>;

    /// Returns the text that replaces a text of a failed handler. Called for the text that the model reads, and for the message
    /// for operators with its causes.
    ///
    /// Default: passes the text through [`on_output`](Self::on_output).
    ///
    /// # Errors
    /// Any error withholds both texts.
    async fn on_error_text(&self, ctx: ToolContext, text: String) -> Result<String, BoxError> {
        match self.on_output(ctx, ToolOutput::text(text)).await?.content {
            Content::Body(Body::Text(text)) => Ok(text),
            _ => Err("the text of a failed call must stay text".into()),
        }
    }
}

impl ToolOutput {
    /// Replaces the text, if the content is text. Kind and trust stay the same. Bytes, streams and media are not changed.
    #[must_use]
    pub fn map_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.content = match self.content {
            Content::Body(Body::Text(text)) => Content::Body(Body::Text(change(text))),
            content => content,
        };
        self
    }
}

#[async_trait]
impl<F, Fut> ResultHook for F
where
    F: Fn(ToolContext, ToolOutput) -> Fut + Send + Sync,
    Fut: Future<Output = Result<ToolOutput, BoxError>> + Send,
{
    async fn on_output(
        &self,
        ctx: ToolContext,
        output: ToolOutput,
    ) -> Result<ToolOutput, BoxError> {
        self(ctx, output).await
    }
}
