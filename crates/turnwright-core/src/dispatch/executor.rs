//! The seam to a model, or to anything that decides.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::BoxError;
use crate::tool::context::DispatchContext;

/// Decides what happens in an iteration: a model, or anything else. Async closures and functions over [`DispatchContext`] are
/// executors; a closure names the type (`|ctx: DispatchContext|`), and both return `Result<(), BoxError>`, so that `?` takes
/// any error.
///
/// It reads the records and the tools of its context, says what it has to say by the
/// [`Reporter`](super::Reporter), has tools run by [`DispatchContext::call_tools`], and returns. With
/// [`ack`](DispatchContext::ack) or [`nack`](DispatchContext::nack) the dispatch ends; without, the next iteration sees
/// what came of the calls.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::dispatch::Executor;
///
/// let executor = |ctx: DispatchContext| async move {
///     // Without those of earlier turns, which middleware may have loaded.
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
/// One that holds something is a type:
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
///         let said = ctx.input().map(|said| said.text().repeat(self.times));
///         ctx.answer(said.ok_or("nobody said anything")?).await?;
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Executor: Send + Sync {
    /// Does one iteration.
    ///
    /// # Errors
    /// The turn fails with this error if it is an [`Error`](crate::Error), and otherwise with `E_LLM_EXECUTION_EXECUTOR_ERROR`,
    /// whose source it is.
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError>;

    /// What it is called in traces and logs: the provider, such as `openai`.
    fn name(&self) -> &str {
        "executor"
    }

    /// The model that it asks, if it asks one.
    fn model(&self) -> Option<&str> {
        None
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

// A generic implementation for `Box` would overlap with that for closures: `Box<F>` is a closure where `F` is one.
#[async_trait]
impl Executor for Box<dyn Executor> {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        (**self).execute(ctx).await
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn model(&self) -> Option<&str> {
        (**self).model()
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
}
