//! The builder for typed and dynamic tools.

mod definition;
mod handlers;

use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::definition::ill_defined;
use super::handler::Handler;
use super::meta::Meta;
use super::{Facts, Inner, Tool};
use crate::artifact::{ArtifactKind, Inline};
use crate::effects::{Concurrency, Effects, OnCollision};
use crate::error::Error;
use crate::schema::{IntoSchema, Limits, Rejection, Schema, SchemaError};
use crate::tool::ResultHook;
use crate::tool::approval::ApprovalPolicy;
use crate::tool::reconcile::Reconcile;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5 * 60);
pub(crate) const MAX_NAME_LEN: usize = 64;

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
        A: DeserializeOwned + JsonSchema + Send + 'static,
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
            description: String::new(),
            artifact_kind: ArtifactKind::TEXT,
            inline: Inline::ByLimit,
            artifact_tool: false,
            meta: Meta::default(),
            ephemeral: false,
            trusted: false,
            on_collision: OnCollision::Error,
            effects: Effects::Writes,
            source: None,
            reads_private: false,
            sends_out: false,
            timeout: Some(DEFAULT_TIMEOUT),
            max_result_bytes: None,
            concurrency: Concurrency::Parallel,
            approval: None,
            reconcile: None,
            required_state: Vec::new(),
            result_hooks: Vec::new(),
            version: None,
            output_schema: None,
            fingerprint: OnceLock::new(),
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
    pub fn check<F, Fut>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
    {
        self.schema = self.schema.map(|schema| schema.external(name, check));
        self
    }

    /// Sets the size and depth limits of the arguments.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Sets the content type of results.
    ///
    /// Default: text.
    pub fn artifact_kind(mut self, kind: ArtifactKind) -> Self {
        self.facts.artifact_kind = kind;
        self
    }

    /// Sets whether results are inlined into the prompt or replaced by handles.
    ///
    /// Default: text of at most 4 KiB is inlined.
    pub fn inline(mut self, inline: Inline) -> Self {
        self.facts.inline = inline;
        self
    }

    /// Marks the tool as an artifact tool. Such tools are untrusted and exist for one dispatch.
    pub(crate) fn artifact_tool(mut self) -> Self {
        self.facts.artifact_tool = true;
        self
    }

    /// Sets metadata for your own middleware.
    pub fn meta(mut self, meta: impl Into<Meta>) -> Self {
        self.facts.meta = meta.into();
        self
    }

    /// Sets the version of the definition, such as a digest of what a server sent. It is part of the fingerprint, so an approval of
    /// one version is not valid for another.
    ///
    /// Default: none.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.facts.version = Some(version.into());
        self
    }

    /// Sets the schema of the results, for protocols that publish it. Results must then be JSON. A server of the Model Context
    /// Protocol checks each result before it sends it; a model sees the result, not this schema.
    ///
    /// ```
    /// use serde_json::json;
    /// use turnwright_core::Tool;
    /// use turnwright_core::schema::{integer, object};
    ///
    /// let count = Tool::dynamic("count", json!({ "type": "object" }))
    ///     .description("Counts the open tickets.")
    ///     .output_schema(object().field("open", integer().required()))
    ///     .handler(async |_, _| json!({ "open": 3 }))
    ///     .build()?;
    /// assert_eq!(count.output_schema().unwrap().document()["required"], json!(["open"]));
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// Default: none.
    pub fn output_schema(mut self, schema: impl IntoSchema) -> Self {
        self.output_schema = Some(schema.into_schema());
        self
    }

    /// Sets whether the tool exists for one dispatch only.
    pub fn ephemeral(mut self, ephemeral: bool) -> Self {
        self.facts.ephemeral = ephemeral;
        self
    }

    /// Sets whether the text that the tool returns is trusted. Only set it if no third party can influence the text.
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.facts.trusted = trusted;
        self
    }

    /// Sets what happens when another tool has the same name in a merge.
    pub fn on_collision(mut self, on_collision: OnCollision) -> Self {
        self.facts.on_collision = on_collision;
        self
    }

    /// Sets the declared effects.
    ///
    /// Default: [`Effects::Writes`].
    pub fn effects(mut self, effects: Effects) -> Self {
        self.facts.effects = effects;
        self
    }

    /// Sets where the tool comes from, such as the alias of a server. Policies can name all tools of a source, for example
    /// [`quarantine`](crate::tool::approval::quarantine). The model does not see it.
    ///
    /// Default: none.
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.facts.source = Some(source.into());
        self
    }

    /// Sets whether results contain private data: mail, files, a customer's record. The data count as private as long as they are
    /// in the prompt, in later turns too: see [`no_exfiltration`](crate::tool::approval::no_exfiltration).
    ///
    /// Default: `false`.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{Effects, Tool, ToolContext};
    ///
    /// let read_mail = Tool::dynamic("read_mail", json!({ "type": "object" }))
    ///     .description("Reads the newest mail.")
    ///     .effects(Effects::ReadOnly)
    ///     .source("mail")
    ///     .reads_private(true)
    ///     .handler(|_: Value, _: ToolContext| async { "Your code is 1234." })
    ///     .build()?;
    /// assert!(read_mail.reads_private() && !read_mail.sends_out());
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn reads_private(mut self, reads_private: bool) -> Self {
        self.facts.reads_private = reads_private;
        self
    }

    /// Sets whether data can leave through a call, in its arguments: a mail, a request to a URL that the model chooses, a commit to
    /// a public repository. See [`no_exfiltration`](crate::tool::approval::no_exfiltration).
    ///
    /// Default: `false`.
    pub fn sends_out(mut self, sends_out: bool) -> Self {
        self.facts.sends_out = sends_out;
        self
    }

    /// Sets the timeout of a call.
    ///
    /// Default: 5 minutes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.facts.timeout = Some(timeout);
        self
    }

    /// Removes the timeout.
    pub fn no_timeout(mut self) -> Self {
        self.facts.timeout = None;
        self
    }

    /// Sets the maximum size of a result in bytes: see
    /// [`TurnRunnerBuilder::max_result_bytes`](crate::runner::TurnRunnerBuilder::max_result_bytes).
    ///
    /// Default: the limit of the runner.
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.facts.max_result_bytes = Some(bytes);
        self
    }

    /// Sets whether calls may run concurrently with others.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.facts.concurrency = concurrency;
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
        let tool = Tool(Arc::new(Inner {
            facts: Arc::new(self.facts),
            schema: match self.limits {
                Some(limits) => schema.with_limits(limits),
                None => schema,
            },
            handler,
        }));
        // A `Value` accepts whatever the schema accepts.
        if TypeId::of::<A>() != TypeId::of::<Value>() {
            let tried = tool.try_samples();
            tried.map_err(|why| ill_defined(tool.name(), &[format!("schema: {why}")]))?;
        }
        Ok(tool)
    }
}

impl<A> fmt::Debug for ToolBuilder<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder")
            .field("name", &self.facts.name)
            .finish_non_exhaustive()
    }
}
