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
use super::meta::Meta;
use super::output::IntoToolResult;
use super::{Facts, Inner, Tool};
use crate::artifact::{ArtifactKind, Inline};
use crate::effects::{Concurrency, Effects, OnCollision};
use crate::error::{Error, ErrorCode};
use crate::schema::{IntoSchema, Limits, Rejection, Schema, SchemaError, SchemaProblem, escape};
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
    name: String,
    description: String,
    schema: Result<Schema, SchemaError>,
    handler: Option<Handler>,
    limits: Option<Limits>,
    artifact_kind: ArtifactKind,
    inline: Inline,
    artifact_tool: bool,
    meta: Meta,
    ephemeral: bool,
    trusted: bool,
    on_collision: OnCollision,
    effects: Effects,
    timeout: Option<Duration>,
    max_result_bytes: Option<u64>,
    concurrency: Concurrency,
    approval: Option<Arc<dyn ApprovalPolicy>>,
    reconcile: Option<Arc<dyn Reconcile>>,
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
    fn new(name: String, schema: Result<Schema, SchemaError>) -> Self {
        ToolBuilder {
            name,
            description: String::new(),
            schema,
            handler: None,
            limits: None,
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
            args: PhantomData,
        }
    }

    /// What it does, what it returns and when to reach for it, in words for the model.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// What runs, once the arguments passed every check. Cut at its next await when its time is over.
    pub fn handler<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        self.handler = Some(Handler::from_async(handler));
        self
    }

    /// What runs, on the pool for blocking work. When its time is over it sees its cancellation and is left behind.
    pub fn handler_blocking<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
        R: IntoToolResult,
    {
        self.handler = Some(Handler::from_blocking(handler));
        self
    }

    /// A check that needs the world, asked after the schema accepted the arguments: see [`Schema::external`].
    pub fn external<F, Fut>(mut self, name: impl Into<String>, check: F) -> Self
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
        self.artifact_kind = kind;
        self
    }

    /// Whether its results stand in the prompt themselves or as handles. Text of at most 4 KiB does unless told.
    pub fn inline(mut self, inline: Inline) -> Self {
        self.inline = inline;
        self
    }

    /// It reads artifacts. For forging alone: that is what keeps such tools untrusted and short-lived.
    pub(crate) fn artifact_tool(mut self) -> Self {
        self.artifact_tool = true;
        self
    }

    /// Facts for your own middleware.
    pub fn meta(mut self, meta: impl Into<Meta>) -> Self {
        self.meta = meta.into();
        self
    }

    /// Lives for one dispatch only.
    pub fn ephemeral(mut self, ephemeral: bool) -> Self {
        self.ephemeral = ephemeral;
        self
    }

    /// You vouch for the text that it returns: it is yours, and nobody else can write into it.
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.trusted = trusted;
        self
    }

    /// What happens when it meets another of its name in a merge.
    pub fn on_collision(mut self, on_collision: OnCollision) -> Self {
        self.on_collision = on_collision;
        self
    }

    /// What it does to the world. Undeclared counts as [`Effects::Writes`].
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }

    /// How long a call may take. Five minutes unless told.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// A call may take for ever.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// The most bytes that are kept of a result: see
    /// [`TurnRunnerBuilder::max_result_bytes`](crate::runner::TurnRunnerBuilder::max_result_bytes). Default: the runner's bound.
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.max_result_bytes = Some(bytes);
        self
    }

    /// Beside what it may run.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Who decides whether a call may run.
    pub fn approval(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.approval = Some(Arc::new(policy));
        self
    }

    /// How to find out, by its idempotency key, what became of a call whose process ended before it did: see
    /// [`unknown`](crate::tool::reconcile).
    pub fn reconcile(mut self, reconcile: impl Reconcile + 'static) -> Self {
        self.reconcile = Some(Arc::new(reconcile));
        self
    }

    /// Makes the tool.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_TOOL_VALUE`, which names every wrong field.
    pub fn build(self) -> Result<Tool, Error> {
        let mut wrong = Vec::new();
        if let Err(why) = check_name(&self.name) {
            wrong.push(format!("name: {why}"));
        }
        if self.description.trim().is_empty() {
            wrong.push(
                "description: is empty: say what the tool does and when to use it".to_owned(),
            );
        }
        if self.handler.is_none() {
            wrong.push(
                "handler: is missing: give one with `handler` or `handler_blocking`".to_owned(),
            );
        }
        if self.timeout == Some(Duration::ZERO) {
            wrong.push(
                "timeout: is zero, so that no call could ever run: use `no_timeout` for none"
                    .to_owned(),
            );
        }
        if self.max_result_bytes == Some(0) {
            wrong.push("max_result_bytes: is zero, so that no result could be kept".to_owned());
        }
        if let Some(why) = self.meta.refused() {
            wrong.push(format!("meta: {why}"));
        }
        let mut problems: Vec<SchemaProblem> = Vec::new();
        let mut source = None;
        match (self.schema, self.handler) {
            (Ok(schema), Some(handler)) if wrong.is_empty() => {
                let schema = match self.limits {
                    Some(limits) => schema.with_limits(limits),
                    None => schema,
                };
                let facts = Facts {
                    name: self.name.into(),
                    description: self.description,
                    artifact_kind: self.artifact_kind,
                    inline: self.inline,
                    artifact_tool: self.artifact_tool,
                    meta: self.meta,
                    ephemeral: self.ephemeral,
                    trusted: self.trusted,
                    on_collision: self.on_collision,
                    effects: self.effects,
                    timeout: self.timeout,
                    max_result_bytes: self.max_result_bytes,
                    concurrency: self.concurrency,
                    approval: self.approval,
                    reconcile: self.reconcile,
                    fingerprint: OnceLock::new(),
                };
                let tool = Tool(Arc::new(Inner {
                    facts: Arc::new(facts),
                    schema,
                    handler,
                }));
                // A value takes whatever a schema accepts.
                let takes_all = TypeId::of::<A>() == TypeId::of::<Value>();
                let tried = if takes_all {
                    Ok(())
                } else {
                    tool.try_samples()
                };
                match tried {
                    Ok(()) => return Ok(tool),
                    Err(why) => wrong.push(format!("schema: {why}")),
                }
                return Err(Error::new(
                    ErrorCode::InvalidTool,
                    definition_text(tool.name(), &wrong),
                ));
            }
            (Ok(_), _) => {}
            (Err(error), _) => {
                let error = Error::from(error);
                wrong.push(format!("schema: {}", error.message()));
                problems = error.problems().to_vec();
                source = Some(error);
            }
        }
        let error = Error::new(ErrorCode::InvalidTool, definition_text(&self.name, &wrong))
            .with_problems(problems);
        Err(match source {
            Some(source) => error.with_source(source),
            None => error,
        })
    }
}

fn definition_text(name: &str, wrong: &[String]) -> String {
    format!(
        "the tool `{}` is not well defined: {}",
        escape(name, LONGEST_NAME),
        wrong.join("; ")
    )
}

fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if name.is_empty() {
        return Err("is empty: use 1 to 64 characters of [A-Za-z0-9_-]".to_owned());
    }
    if length > LONGEST_NAME {
        return Err(format!(
            "has {length} characters: 64 are the most that every provider takes"
        ));
    }
    match name
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'))
    {
        Some(other) => Err(format!(
            "has {other:?}: only [A-Za-z0-9_-] is taken by every provider"
        )),
        None => Ok(()),
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
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
