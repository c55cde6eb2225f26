//! Adds tools at the start of a turn.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::deadline::{Cut, TimeLimit, within};
use crate::effects::OnCollision;
use crate::error::BoxError;
use crate::pipeline::{Middleware, Next};
use crate::tool::Tool;
use crate::tool::context::TurnContext;
use crate::tool::registry::ToolRegistry;

/// Middleware that adds tools at the start of a turn. See [`fetch_tools`].
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::middleware::fetch_tools;
/// use turnwright_core::{BoxError, Tool, TurnContext};
/// # async fn tools_of(_tenant: &str) -> Result<Vec<Tool>, BoxError> { Ok(Vec::new()) }
///
/// let tenant_tools = fetch_tools(|ctx: TurnContext| async move { tools_of(ctx.conversation_id().as_str()).await })
///     .timeout(Duration::from_secs(5))
///     .optional();
/// ```
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct FetchTools {
    fetch: Arc<dyn Fn(TurnContext) -> BoxFuture<'static, Fetched> + Send + Sync>,
    timeout: Option<Duration>,
    optional: bool,
}

type Fetched = Result<Vec<Tool>, BoxError>;

/// Adds tools that are known only at the start of a turn, such as those of a server, a tenant or a user. Other turns do not see
/// them. Add it to the turn input.
///
/// If the turn already has a tool of the same name, the [`OnCollision`] of the fetched tool decides whether it replaces the
/// existing one, is dropped, or causes an error that describes both. Either all fetched tools are added or none. An error fails
/// the turn unless [`FetchTools::optional`] is set.
///
/// ```
/// use turnwright_core::middleware::fetch_tools;
/// use turnwright_core::{DispatchContext, Tool, ToolContext, TurnContext};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     let greeting = ctx.call("greet", "{}").await;
///     ctx.answer(greeting.text().await.unwrap_or_default()).await?;
///     Ok(())
/// })
/// .turn_input(fetch_tools(|ctx: TurnContext| async move {
///     let turn = ctx.turn_id().to_owned();
///     let greet = Tool::dynamic("greet", json!({ "type": "object" }))
///         .description("Greets.")
///         .handler(move |_: Value, _: ToolContext| {
///             let turn = turn.clone();
///             async move { format!("Hello from {turn}") }
///         })
///         .build()?;
///     Ok(vec![greet])
/// }))
/// .build()?;
/// let outcome = runner.run("Hi!").await;
/// assert_eq!(outcome.text, format!("Hello from {}", outcome.turn_id));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn fetch_tools<F, Fut>(fetch: F) -> FetchTools
where
    F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<Tool>, BoxError>> + Send + 'static,
{
    FetchTools {
        fetch: Arc::new(move |ctx| fetch(ctx).boxed()),
        timeout: None,
        optional: false,
    }
}

impl FetchTools {
    /// Sets the maximum duration of the fetch.
    ///
    /// Default: no limit.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Continues without the fetched tools on error, with a warning to operators.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Adds all of the fetched tools, or none.
    async fn add_to(&self, ctx: &TurnContext) -> Result<(), BoxError> {
        let time = TimeLimit::from_now(self.timeout);
        let fetched = within(time, ctx.cancellation(), (self.fetch)(ctx.clone())).await;
        let fetched = fetched.map_err(|cut| match cut {
            Cut::Timeout(limit) => format!("fetching tools did not complete within {limit:?}"),
            Cut::Cancelled => "the turn was cancelled while fetching tools".to_owned(),
        })?;
        let fetched = ToolRegistry::new(fetched?)?;
        Ok(ctx.tools().merge_from(&fetched, OnCollision::Error)?)
    }
}

#[async_trait]
impl Middleware<TurnContext> for FetchTools {
    async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        if let Err(error) = self.add_to(&ctx).await {
            if !self.optional {
                return Err(error);
            }
            ctx.warn(format!("continuing without the fetched tools: {error}"));
        }
        next.run().await
    }

    fn name(&self) -> &'static str {
        "fetch_tools"
    }
}

debug_fields!(FetchTools { timeout, optional });
