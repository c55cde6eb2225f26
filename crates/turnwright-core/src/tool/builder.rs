//! One builder for typed and dynamic tools.

use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::handler::Handler;
use super::into_result::IntoToolResult;
use super::meta::Meta;
use super::{Facts, Inner, Tool};
use crate::artifact::{ArtifactKind, Inline};
use crate::effects::{Concurrency, Effects, OnCollision};
use crate::error::{Error, ErrorCode};
use crate::schema::{IntoSchema, Limits, Rejection, Schema, SchemaError, escape};
use crate::state::{State, StateType};
use crate::tool::ResultHook;
use crate::tool::approval::ApprovalPolicy;
use crate::tool::context::ToolContext;
use crate::tool::reconcile::Reconcile;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5 * 60);
pub(crate) const LONGEST_NAME: usize = 64;

/// Makes a [`Tool`]: see [`Tool::typed`] and [`Tool::dynamic`].
///
/// Everything is checked once, in [`ToolBuilder::build`], which names every wrong field.
#[must_use = "a builder does nothing until `build` is called"]
pub struct ToolBuilder<A> {
    pub(super) facts: Facts,
    schema: Result<Schema, SchemaError>,
    handler: Option<Handler>,
    limits: Option<Limits>,
    args: PhantomData<fn(A)>,
}

impl Tool {
    /// Starts a tool whose arguments are a Rust type. The type makes the schema, so the two cannot disagree.
    pub fn typed<A>(name: impl Into<String>) -> ToolBuilder<A>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
    {
        ToolBuilder::new(name.into(), Schema::of::<A>())
    }

    /// Starts a tool whose arguments are JSON: for schemas that come from a builder, a configuration or a server.
    ///
    /// ```
    /// use turnwright_core::{Tool, ToolContext};
    /// use serde_json::{Value, json};
    ///
    /// let tool = Tool::dynamic("echo", json!({ "type": "object", "properties": { "text": { "type": "string" } } }))
    ///     .description("Gives back what came.")
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
            description: String::new(),
            artifact_kind: ArtifactKind::TEXT,
            inline: Inline::ByLimit,
            artifact_tool: false,
            meta: Meta::default(),
            ephemeral: false,
            trusted: false,
            on_collision: OnCollision::Error,
            effects: Effects::Writes,
            timeout: Some(DEFAULT_TIMEOUT),
            max_result_bytes: None,
            concurrency: Concurrency::Parallel,
            approval: None,
            reconcile: None,
            required_state: Vec::new(),
            result_hooks: Vec::new(),
            fingerprint: OnceLock::new(),
        };
        ToolBuilder {
            facts,
            schema,
            handler: None,
            limits: None,
            args: PhantomData,
        }
    }

    /// What it does, what it returns and when to reach for it, in words for the model.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.facts.description = text.into();
        self
    }

    /// Sets the handler: an async closure that gets the checked arguments and the context of the call.
    ///
    /// The types of the parameters and of the error are inferred. A closure that ends in `Ok(…)` returns
    /// `Result<_, ToolError>`, and `?` makes a [`ToolError`](crate::ToolError) from any error. On timeout the handler is
    /// dropped at its next await.
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
    /// An async closure that captures a value lends it to each call, which Rust cannot express as a `Fn` that returns a
    /// `'static` future. Pass captured values to [`handler_with`](Self::handler_with), which shares them.
    pub fn handler<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        self.handler = Some(Handler::from_async(handler));
        self
    }

    /// Sets a handler with state of its own: each call gets a shared handle to it, as its first parameter.
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
    /// Several values are one tuple: `.handler_with((db, mail), async |s, args, _| s.0.find(…))`.
    pub fn handler_with<S, F, Fut>(self, state: S, handler: F) -> Self
    where
        S: Send + Sync + 'static,
        F: Fn(State<S>, A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        let state = State::new(state);
        self.handler(move |args, ctx| handler(state.clone(), args, ctx))
    }

    /// Sets a handler that blocks: it runs on the pool for blocking work. On timeout its cancellation token is cancelled and its
    /// thread is detached.
    ///
    /// It may capture what it needs, because it returns no future:
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

    /// Declares that the handler needs state of this type. A runner without it does not build, instead of failing at the first
    /// call. `#[tool]` does this for each parameter `State<T>`.
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

    /// Adds a check of the arguments that needs more than the schema, such as a database. It runs after the schema has accepted
    /// the arguments and before approval: see [`Schema::external`]. The model reads `name` as the rule that was broken.
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
    ///         _ => Err(Rejection::at("/city", "is not a city that we know")),
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
    pub fn check<F, Fut>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
    {
        self.schema = self.schema.map(|schema| schema.external(name, check));
        self
    }

    /// How large and deep its arguments may be.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// What its results are. Text unless told.
    pub fn artifact_kind(mut self, kind: ArtifactKind) -> Self {
        self.facts.artifact_kind = kind;
        self
    }

    /// Whether its results stand in the prompt themselves or as handles. Text of at most 4 KiB does unless told.
    pub fn inline(mut self, inline: Inline) -> Self {
        self.facts.inline = inline;
        self
    }

    /// It reads artifacts. For forging alone: that is what keeps such tools untrusted and short-lived.
    pub(crate) fn artifact_tool(mut self) -> Self {
        self.facts.artifact_tool = true;
        self
    }

    /// Facts for your own middleware.
    pub fn meta(mut self, meta: impl Into<Meta>) -> Self {
        self.facts.meta = meta.into();
        self
    }

    /// Lives for one dispatch only.
    pub fn ephemeral(mut self, ephemeral: bool) -> Self {
        self.facts.ephemeral = ephemeral;
        self
    }

    /// You vouch for the text that it returns: it is yours, and nobody else can write into it.
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.facts.trusted = trusted;
        self
    }

    /// What happens when it meets another of its name in a merge.
    pub fn on_collision(mut self, on_collision: OnCollision) -> Self {
        self.facts.on_collision = on_collision;
        self
    }

    /// What it does to the world. Undeclared counts as [`Effects::Writes`].
    pub fn effects(mut self, effects: Effects) -> Self {
        self.facts.effects = effects;
        self
    }

    /// How long a call may take. Five minutes unless told.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.facts.timeout = Some(timeout);
        self
    }

    /// A call may take for ever.
    pub fn no_timeout(mut self) -> Self {
        self.facts.timeout = None;
        self
    }

    /// The most bytes that are kept of a result: see
    /// [`TurnRunnerBuilder::max_result_bytes`](crate::runner::TurnRunnerBuilder::max_result_bytes). Default: the runner's bound.
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.facts.max_result_bytes = Some(bytes);
        self
    }

    /// Beside what it may run.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.facts.concurrency = concurrency;
        self
    }

    /// Sets the policy that decides whether a call may run, such as [`always`](crate::tool::approval::always). It is asked after those of
    /// the runner. Default: none, and calls run.
    pub fn approval(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.facts.approval = Some(Arc::new(policy));
        self
    }

    /// Sets the function that finds out, by its idempotency key, whether a call took effect whose process died: see
    /// [`reconcile`](crate::tool::reconcile). Default: none, and the result of such a call is unknown.
    pub fn reconcile(mut self, reconcile: impl Reconcile + 'static) -> Self {
        self.facts.reconcile = Some(Arc::new(reconcile));
        self
    }

    /// Adds a hook that changes results of this tool before anything of them is kept or shown: see [`ResultHook`]. It runs before
    /// the hooks of the runner.
    pub fn on_result(mut self, hook: impl ResultHook + 'static) -> Self {
        self.facts.result_hooks.push(Arc::new(hook));
        self
    }

    /// Makes the tool.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_TOOL_VALUE`, which names every wrong field.
    pub fn build(self) -> Result<Tool, Error> {
        let mut wrong = self.facts.wrong();
        if self.handler.is_none() {
            wrong.push("handler: is missing: give one with `handler` or `handler_blocking`".into());
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
        let Some(handler) = self.handler.filter(|_| wrong.is_empty()) else {
            return Err(ill_defined(&self.facts.name, &wrong));
        };
        let tool = Tool(Arc::new(Inner {
            facts: Arc::new(self.facts),
            schema: match self.limits {
                Some(limits) => schema.with_limits(limits),
                None => schema,
            },
            handler,
        }));
        // A value takes whatever a schema accepts.
        if TypeId::of::<A>() != TypeId::of::<Value>() {
            let tried = tool.try_samples();
            tried.map_err(|why| ill_defined(tool.name(), &[format!("schema: {why}")]))?;
        }
        Ok(tool)
    }
}

impl Facts {
    /// What is wrong with them, field by field.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Err(why) = check_name(&self.name) {
            wrong.push(format!("name: {why}"));
        }
        if self.description.trim().is_empty() {
            wrong.push("description: is empty: say what the tool does and when to use it".into());
        }
        if self.timeout == Some(Duration::ZERO) {
            let why = "is zero, so that no call could ever run: use `no_timeout` for none";
            wrong.push(format!("timeout: {why}"));
        }
        if self.max_result_bytes == Some(0) {
            wrong.push("max_result_bytes: is zero, so that no result could be kept".into());
        }
        if let Some(why) = self.meta.refused() {
            wrong.push(format!("meta: {why}"));
        }
        wrong
    }
}

fn ill_defined(name: &str, wrong: &[String]) -> Error {
    let (name, wrong) = (escape(name, LONGEST_NAME), wrong.join("; "));
    let message = format!("the tool `{name}` is not well defined: {wrong}");
    Error::new(ErrorCode::INVALID_INITIAL_TOOL_VALUE, message)
}

fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    let other = |c: &char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-');
    match (length, name.chars().find(other)) {
        (0, _) => Err("is empty: use 1 to 64 characters of [A-Za-z0-9_-]".to_owned()),
        _ if length > LONGEST_NAME => Err(format!(
            "has {length} characters: 64 are the most that every provider takes"
        )),
        (_, Some(other)) => Err(format!(
            "has {other:?}: only [A-Za-z0-9_-] is taken by every provider"
        )),
        (_, None) => Ok(()),
    }
}

impl Tool {
    /// A schema that accepts what its type refuses is no contract: shows the type the plainest arguments that the schema
    /// accepts. The contract fuzzer of the testkit goes further.
    fn try_samples(&self) -> Result<(), String> {
        for sample in self.schema().samples() {
            if let Err(faults) = self.bind(&sample) {
                let why = faults.notes().join("; ");
                let shown = escape(&sample.to_string(), 200);
                return Err(format!("accepts {shown}, but {why}"));
            }
        }
        Ok(())
    }
}

impl<A> fmt::Debug for ToolBuilder<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder")
            .field("name", &self.facts.name)
            .finish_non_exhaustive()
    }
}
