//! The builder for typed and dynamic tools.
//!
//! Methods with bounds on a user's types are in this module: the compiler names their module in its errors otherwise.

mod definition;
mod settings;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::definition::ill_defined;
use super::context::{DispatchContext, ToolContext};
use super::handler::{ContextCheck, Handler};
use super::into_result::IntoToolResult;
use super::{Facts, Inner, Tool};
use crate::error::Error;
use crate::schema::{IntoSchema, Limits, Rejection, Schema, SchemaError, Typed};
use crate::state::{State, StateType};
use crate::tool::ResultHook;
use crate::tool::approval::ApprovalPolicy;
use crate::tool::reconcile::Reconcile;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Builds a [`Tool`]. See [`Tool::typed`] and [`Tool::dynamic`].
///
/// All settings are validated in [`ToolBuilder::build`], which reports every invalid field.
///
/// ```
/// use serde_json::{Value, json};
/// use std::time::Duration;
/// use turnwright_core::{Effects, Tool, ToolContext};
///
/// let forecast = Tool::dynamic("forecast", json!({ "type": "object" }))
///     .description("Returns the weather forecast.")
///     .effects(Effects::ReadOnly)
///     .timeout(Duration::from_secs(10))
///     .handler(|_: Value, _: ToolContext| async { "sunny" })
///     .build()?;
///
/// let error = Tool::dynamic("", json!({ "type": "object" })).build().unwrap_err();
/// assert_eq!(error.code().as_str(), "E_INVALID_INITIAL_TOOL_VALUE");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct ToolBuilder<A> {
    pub(super) facts: Facts,
    schema: Result<Schema, SchemaError>,
    output_schema: Option<Result<Schema, SchemaError>>,
    handler: Option<Handler>,
    limits: Option<Limits>,
    args: PhantomData<fn(A)>,
}

impl Tool {
    /// Starts a tool whose arguments are a Rust type. The schema is derived from the type, so the two cannot disagree.
    pub fn typed<A>(name: impl Into<String>) -> ToolBuilder<A>
    where
        A: Typed + Send + 'static,
    {
        ToolBuilder::new(name.into(), Schema::of::<A>())
    }

    /// Starts a tool whose arguments are JSON, for schemas from a builder, a configuration or a server.
    ///
    /// ```
    /// use turnwright_core::{Tool, ToolContext};
    /// use serde_json::{Value, json};
    ///
    /// let tool = Tool::dynamic("echo", json!({ "type": "object", "properties": { "text": { "type": "string" } } }))
    ///     .description("Returns its input.")
    ///     .handler(|args: Value, _ctx: ToolContext| async move { args.to_string() })
    ///     .build()?;
    /// assert_eq!(tool.describe().input_schema["properties"]["text"]["type"], "string");
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn dynamic(name: impl Into<String>, schema: impl IntoSchema) -> ToolBuilder<Value> {
        ToolBuilder::new(name.into(), schema.into_schema())
    }
}

impl<A: DeserializeOwned + Send + 'static> ToolBuilder<A> {
    pub(super) fn new(name: String, schema: Result<Schema, SchemaError>) -> Self {
        let facts = Facts {
            name: name.into(),
            timeout: Some(DEFAULT_TIMEOUT),
            ..Facts::default()
        };
        ToolBuilder {
            facts,
            schema,
            output_schema: None,
            handler: None,
            limits: None,
            args: PhantomData,
        }
    }

    /// Sets the description for the model: what the tool does, what it returns and when to use it.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.facts.description = text.into();
        self
    }

    /// Adds a check of the arguments that needs more than the schema, such as a database lookup. It runs after the schema has
    /// accepted the arguments and before approval: see [`Schema::external`]. The model sees `name` as the rule that was violated.
    ///
    /// A check may take the context as a second parameter, for the state of the runner, the stash and the principal:
    /// `async fn known_city(args: Value, ctx: DispatchContext)`.
    ///
    /// ```
    /// use serde_json::Value;
    /// use turnwright_core::{DispatchContext, Tool};
    /// use turnwright_core::schema::Rejection;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Forecast { city: String }
    ///
    /// async fn known_city(args: Value) -> Result<(), Rejection> {
    ///     match args["city"].as_str() {
    ///         Some("Oslo") => Ok(()),
    ///         _ => Err(Rejection::at("/city", "is not a known city")),
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let forecast = Tool::typed::<Forecast>("forecast")
    ///     .description("Weather forecast for a city.")
    ///     .check("known_city", known_city)
    ///     .handler(async |args, _| format!("{}: sunny", args.city))
    ///     .build()?;
    /// let ctx = DispatchContext::standalone();
    /// let error = forecast.call(&ctx, r#"{"city": "Atlantis"}"#).await.unwrap_err();
    /// assert_eq!(error.faults()[0].pointer, "/city");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub fn check<P>(self, name: impl Into<String>, check: impl Check<P>) -> Self {
        check.add_to(self, name.into())
    }

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
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
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

    /// Sets the policy that decides whether a call may run, such as [`always`](crate::tool::approval::always). It runs after the
    /// policies of the runner.
    ///
    /// Default: none; calls run without approval.
    pub fn approval(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.facts.approval = Some(Arc::new(policy));
        self
    }

    /// Sets the function that finds out, by idempotency key, whether a call of a dead process took effect: see
    /// [`reconcile`](crate::tool::reconcile).
    ///
    /// Default: none; the result of such a call is unknown.
    pub fn reconcile(mut self, reconcile: impl Reconcile + 'static) -> Self {
        self.facts.reconcile = Some(Arc::new(reconcile));
        self
    }

    /// Adds a hook that changes results of this tool before they are stored or shown: see [`ResultHook`]. It runs before the
    /// hooks of the runner.
    pub fn on_result(mut self, hook: impl ResultHook + 'static) -> Self {
        self.facts.result_hooks.push(Arc::new(hook));
        self
    }

    /// Builds the tool.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_TOOL_VALUE`, which lists all invalid fields.
    pub fn build(mut self) -> Result<Tool, Error> {
        let mut wrong = self.facts.wrong();
        if self.handler.is_none() {
            wrong.push("handler: is missing: set one with `handler` or `handler_blocking`".into());
        }
        let schema = match self.schema.map_err(Error::from) {
            Ok(schema) => schema,
            Err(error) => {
                wrong.push(format!("schema: {}", error.message()));
                let problems = error.problems().to_vec();
                let ill_defined = ill_defined(&self.facts.name, &wrong);
                return Err(ill_defined.with_problems(problems).with_source(error));
            }
        };
        self.facts.output_schema = match self.output_schema.transpose() {
            Ok(schema) => schema,
            Err(error) => {
                wrong.push(format!("output_schema: {}", Error::from(error).message()));
                None
            }
        };
        let Some(handler) = self.handler.filter(|_| wrong.is_empty()) else {
            return Err(ill_defined(&self.facts.name, &wrong));
        };
        Ok(Tool(Arc::new(Inner {
            facts: Arc::new(self.facts),
            schema: match self.limits {
                Some(limits) => schema.with_limits(limits),
                None => schema,
            },
            handler,
        })))
    }
}

/// A check for [`ToolBuilder::check`]: an async function of the checked arguments, or of the arguments and the context.
///
/// `P` are its parameters, which the compiler infers.
#[diagnostic::on_unimplemented(
    message = "this is not a check of a tool",
    label = "not a check",
    note = "a check is an `async fn(Value) -> Result<(), Rejection>`; with the context, it is an `async fn(Value, DispatchContext) -> Result<(), Rejection>`"
)]
pub trait Check<P> {
    #[doc(hidden)]
    fn add_to<A>(self, tool: ToolBuilder<A>, name: String) -> ToolBuilder<A>;
}

impl<F, Fut> Check<(Value,)> for F
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
{
    fn add_to<A>(self, mut tool: ToolBuilder<A>, name: String) -> ToolBuilder<A> {
        tool.schema = tool.schema.map(|schema| schema.external(name, self));
        tool
    }
}

impl<F, Fut> Check<(Value, DispatchContext)> for F
where
    F: Fn(Value, DispatchContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
{
    fn add_to<A>(self, mut tool: ToolBuilder<A>, name: String) -> ToolBuilder<A> {
        tool.facts.context_checks.push(ContextCheck {
            name: name.into(),
            ask: Arc::new(move |args, ctx| Box::pin(self(args, ctx))),
        });
        tool
    }
}

impl<A> fmt::Debug for ToolBuilder<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder")
            .field("name", &self.facts.name)
            .finish_non_exhaustive()
    }
}
