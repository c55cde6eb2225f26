//! The interface to a model, or to anything that decides.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{BoxError, Error};
use crate::tool::Tool;
use crate::tool::context::DispatchContext;

/// Decides what happens in an iteration: a model or anything else.
///
/// Implemented for async closures and functions that take a [`DispatchContext`] and return `Result<(), BoxError>`, so `?` accepts
/// any error. A closure must name the type: `|ctx: DispatchContext|`.
///
/// An executor reads the records and tools of its context, reports its output with the [`Reporter`](super::Reporter), runs tools
/// with [`DispatchContext::call_tools`], and returns. [`ack`](DispatchContext::ack) or [`nack`](DispatchContext::nack) ends the
/// dispatch. Otherwise, the next iteration sees the results of the calls.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::dispatch::Executor;
///
/// let executor = |ctx: DispatchContext| async move {
///     // Only the calls of this turn: middleware may have loaded earlier ones.
///     match ctx.records().own_tool_calls().pop() {
///         None => drop(ctx.call_tools([ctx.propose("look_up", r#"{"word": "turn"}"#)]).await),
///         Some(call) => drop(ctx.answer(call.text().await.unwrap_or_default()).await?),
///     }
///     Ok(())
/// };
/// # fn is<E: Executor>(_: E) {}
/// # is(executor);
/// ```
///
/// An executor with state is a type:
///
/// ```
/// use async_trait::async_trait;
/// use turnwright_core::dispatch::Executor;
/// use turnwright_core::{BoxError, DispatchContext};
///
/// struct Parrot {
///     times: usize,
/// }
///
/// #[async_trait]
/// impl Executor for Parrot {
///     async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
///         let text = ctx.input().map(|input| input.text().repeat(self.times));
///         ctx.answer(text.ok_or("the turn has no input")?).await?;
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Executor: Send + Sync {
    /// Runs one iteration.
    ///
    /// # Errors
    /// If the error is an [`Error`](crate::Error), the turn fails with it. Otherwise the turn fails with
    /// `E_LLM_EXECUTION_EXECUTOR_ERROR`, with this error as its source.
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError>;

    /// Returns the name for traces, metrics and logs: the provider, such as `openai`. If OpenTelemetry's conventions have a value
    /// for the provider (`gen_ai.provider.name`), return that.
    fn name(&self) -> &str {
        "executor"
    }

    /// Returns the model that it uses, if any.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Returns the host and the port of its server for traces and metrics, if it has one.
    fn server(&self) -> Option<(&str, u16)> {
        None
    }

    /// Checks the tools that are registered with a runner. Called by
    /// [`TurnRunnerBuilder::build`](crate::runner::TurnRunnerBuilder::build), which fails with this error. Tools that appear
    /// later, such as those of an MCP server, are not checked here.
    ///
    /// # Errors
    /// Returns an error if it cannot use one of the tools, for example because its server rejects the schema.
    fn check_tools(&self, tools: &[Tool]) -> Result<(), Error> {
        let _ = tools;
        Ok(())
    }
}

#[async_trait]
impl<F, Fut> Executor for F
where
    F: Fn(DispatchContext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), BoxError>> + Send,
{
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        self(ctx).await
    }
}

#[async_trait]
impl<E: Executor + ?Sized> Executor for Arc<E> {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        (**self).execute(ctx).await
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn model(&self) -> Option<&str> {
        (**self).model()
    }

    fn server(&self) -> Option<(&str, u16)> {
        (**self).server()
    }

    fn check_tools(&self, tools: &[Tool]) -> Result<(), Error> {
        (**self).check_tools(tools)
    }
}
