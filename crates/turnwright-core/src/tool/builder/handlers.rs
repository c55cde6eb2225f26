//! Sets the handler of a tool.

use std::future::Future;

use serde::de::DeserializeOwned;

use super::ToolBuilder;
use crate::state::{State, StateType};
use crate::tool::context::ToolContext;
use crate::tool::handler::Handler;
use crate::tool::into_result::IntoToolResult;

impl<A: DeserializeOwned + Send + 'static> ToolBuilder<A> {
    /// Sets the handler: an async closure that receives the checked arguments and the context of the call.
    ///
    /// The types of the parameters and of the error are inferred. A closure that ends in `Ok(…)` returns `Result<_, ToolError>`,
    /// and `?` converts any error to a [`ToolError`](crate::ToolError). On timeout, the handler is dropped at its next await
    /// point.
    ///
    /// ```
    /// use turnwright_core::{Tool, ToolContext};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Add { numbers: Vec<String> }
    ///
    /// let add = Tool::typed::<Add>("add")
    ///     .description("Adds numbers.")
    ///     .handler(async |args, _| {
    ///         let mut sum = 0;
    ///         for number in args.numbers {
    ///             sum += number.parse::<i64>()?;
    ///         }
    ///         Ok(sum)
    ///     })
    ///     .build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// An async closure that captures a value lends it to each call, which Rust cannot express as a `Fn` that returns a `'static`
    /// future. Pass captured values to [`handler_with`](Self::handler_with) instead, which shares them.
    pub fn handler<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        self.handler = Some(Handler::from_async(handler));
        self
    }

    /// Sets a handler with its own state. Each call receives a shared handle to the state as its first parameter.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use turnwright_core::{DispatchContext, Tool};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Lookup { user: u32 }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let users = HashMap::from([(7, "Ada")]);
    /// let who_is = Tool::typed::<Lookup>("who_is")
    ///     .description("Looks up the name of a user.")
    ///     .handler_with(users, async |users, args, _| users.get(&args.user).copied())
    ///     .build()?;
    ///
    /// let ctx = DispatchContext::standalone();
    /// assert_eq!(who_is.call(&ctx, r#"{"user": 7}"#).await?.as_text(), Some("Ada"));
    /// assert_eq!(who_is.call(&ctx, r#"{"user": 8}"#).await?.as_text(), Some("null"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// Use a tuple for several values: `.handler_with((db, mail), async |s, args, _| s.0.find(…))`.
    pub fn handler_with<S, F, Fut>(self, state: S, handler: F) -> Self
    where
        S: Send + Sync + 'static,
        F: Fn(State<S>, A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        let state = State::new(state);
        self.handler(move |args, ctx| handler(state.clone(), args, ctx))
    }

    /// Sets a blocking handler, which runs on the thread pool for blocking work. On timeout the token is cancelled and the thread
    /// is detached.
    ///
    /// It can capture values, because it does not return a future:
    ///
    /// ```
    /// use turnwright_core::Tool;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Count { word: String }
    ///
    /// let text = "a rose is a rose".to_owned();
    /// let count = Tool::typed::<Count>("count")
    ///     .description("Counts a word in the text.")
    ///     .handler_blocking(move |args, _| text.split(' ').filter(|word| *word == args.word).count())
    ///     .build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn handler_blocking<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
        R: IntoToolResult,
    {
        self.handler = Some(Handler::from_blocking(handler));
        self
    }

    /// Declares that the handler needs state of this type. A runner without it fails to build, instead of failing at the first
    /// call. `#[tool]` does this for each `State<T>` parameter.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, ErrorCode, Tool};
    /// use serde_json::json;
    ///
    /// struct Database;
    ///
    /// let query = Tool::dynamic("query", json!({ "type": "object" }))
    ///     .description("Queries the database.")
    ///     .requires_state::<Database>()
    ///     .handler(async |_, ctx| {
    ///         let _database = ctx.state::<Database>()?;
    ///         Ok("no rows")
    ///     })
    ///     .build()?;
    ///
    /// # let executor = |_: DispatchContext| async { Ok(()) };
    /// let error = turnwright_core::runner(executor).tool(query).build().unwrap_err();
    /// assert_eq!(error.code(), ErrorCode::MISSING_STATE);
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn requires_state<T: Send + Sync + 'static>(mut self) -> Self {
        self.facts.required_state.push(StateType::of::<T>());
        self
    }
}
