//! Tools. Each has one schema that the model sees and that is enforced.
//!
//! ```
//! use turnwright_core::{DispatchContext, Tool, ToolContext, ToolError};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// The name of the person.
//!     #[schemars(length(min = 1))]
//!     name: String,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let greet = Tool::typed::<Greet>("greet")
//!     .description("Greets a person.")
//!     .handler(|args: Greet, _ctx: ToolContext| async move { format!("Hello, {}!", args.name) })
//!     .build()?;
//!
//! let ctx = DispatchContext::standalone();
//! let output = greet.call(&ctx, r#"{"name": "Ada"}"#).await?;
//! assert_eq!(output.as_text(), Some("Hello, Ada!"));
//!
//! // Invalid arguments do not reach the handler:
//! let error = greet.call(&ctx, r#"{"name": ""}"#).await.unwrap_err();
//! assert_eq!(error.faults()[0].pointer, "/name");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

pub mod approval;
mod builder;
pub mod context;
mod external;
mod handler;
mod into_result;
mod meta;
mod output;
pub mod reconcile;
pub(crate) mod registry;
mod result_hook;
#[doc(hidden)]
pub mod returned;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

pub use crate::effects::{Concurrency, Effects, OnCollision};
pub use builder::{Check, ToolBuilder};
pub use into_result::{IntoToolResult, Json};
pub use meta::Meta;
pub use output::{Content, ToolOutput};
pub use registry::ToolRegistry;
pub use result_hook::ResultHook;

pub(crate) use handler::{BoundHandler, ContextCheck, Handler, HandlerResult, Work};

use self::context::DispatchContext;
use crate::artifact::{ArtifactKind, Inline};
use crate::checksum::digest_of;
use crate::error::Error;
use crate::schema::{CheckedArgs, ExternalCheck, Fault, InvalidArguments, RawArgs, Schema};
use crate::state::{StateType, TypeMap};
use crate::tool::approval::ApprovalPolicy;
use crate::tool::reconcile::Reconcile;

/// A function that a model can call: a name, a description, a schema, and a handler that only the call path can run. Immutable
/// and cheap to clone.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::{DispatchContext, Tool, ToolContext};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet { name: String }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let greet = Tool::typed::<Greet>("greet")
///     .description("Greets a person.")
///     .handler(|args: Greet, _: ToolContext| async move { format!("Hello, {}!", args.name) })
///     .build()?;
/// let output = greet.call(&DispatchContext::standalone(), json!({ "name": "Ada" })).await?;
/// assert_eq!(output.as_text(), Some("Hello, Ada!"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Tool(Arc<Inner>);

struct Inner {
    facts: Arc<Facts>,
    schema: Schema,
    handler: Handler,
}

/// The author's settings, shared by tools that differ only in their handler.
#[derive(Clone, Default)]
struct Facts {
    name: Arc<str>,
    description: String,
    /// `None`: text.
    artifact_kind: Option<ArtifactKind>,
    inline: Inline,
    artifact_tool: bool,
    meta: Meta,
    ephemeral: bool,
    trusted: bool,
    on_collision: OnCollision,
    effects: Effects,
    source: Option<Arc<str>>,
    reads_private: bool,
    sends_out: bool,
    timeout: Option<Duration>,
    max_result_bytes: Option<u64>,
    concurrency: Concurrency,
    approval: Option<Arc<dyn ApprovalPolicy>>,
    reconcile: Option<Arc<dyn Reconcile>>,
    result_hooks: Vec<Arc<dyn ResultHook>>,
    context_checks: Vec<ContextCheck>,
    required_state: Vec<StateType>,
    version: Option<String>,
    output_schema: Option<Schema>,
    fingerprint: OnceLock<String>,
}

/// The description of a tool for a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDescription<'t> {
    /// The name.
    pub name: &'t str,
    /// What the tool does.
    pub description: &'t str,
    /// The schema that is enforced.
    pub input_schema: &'t Value,
}

/// Maximum length of the name of a tool.
pub(crate) const MAX_NAME_LEN: usize = 64;

/// How the schemas of artifact tools list the ids of readable calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArtifactToolPolicy {
    /// As an enum: the schema lists every readable call and changes with them. Without matching artifacts there are no tools.
    Enumerated,
    /// As any string; a check of the tool lists the readable calls. The schema never changes, so a provider's prompt cache stays
    /// valid.
    Stable,
}

impl Tool {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.facts.name
    }

    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.0.facts.name
    }

    /// Returns whether both are the same tool, not just equal ones.
    pub(crate) fn is_same(&self, other: &Tool) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns a tool with the same description, one more external check and another handler. Cheap: the description and the
    /// fingerprint are shared.
    pub(crate) fn reaching(&self, check: ExternalCheck, handler: Handler) -> Tool {
        Tool(Arc::new(Inner {
            facts: Arc::clone(&self.0.facts),
            schema: self.0.schema.clone().checked_by(check),
            handler,
        }))
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.facts.description
    }

    /// Returns the schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// Returns the schema of the results, if one was set: see [`ToolBuilder::output_schema`].
    #[must_use]
    pub fn output_schema(&self) -> Option<&Schema> {
        self.0.facts.output_schema.as_ref()
    }

    /// Returns the content type of results, unless the handler sets another one.
    #[must_use]
    pub fn artifact_kind(&self) -> ArtifactKind {
        self.0.facts.artifact_kind.unwrap_or(ArtifactKind::TEXT)
    }

    /// Returns whether results are inlined into the prompt.
    #[must_use]
    pub fn inline(&self) -> Inline {
        self.0.facts.inline
    }

    /// Returns whether this is an [artifact tool](crate::artifact_tools). Its answers are text, never trusted, and do not become
    /// artifacts.
    #[must_use]
    pub fn is_artifact_tool(&self) -> bool {
        self.0.facts.artifact_tool
    }

    /// Returns the metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.0.facts.meta
    }

    /// Returns whether the tool exists for one dispatch only.
    #[must_use]
    pub fn is_ephemeral(&self) -> bool {
        self.0.facts.ephemeral
    }

    /// Returns whether the text that it returns is trusted.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.0.facts.trusted
    }

    /// Returns what happens when another tool has the same name in a merge.
    #[must_use]
    pub fn on_collision(&self) -> OnCollision {
        self.0.facts.on_collision
    }

    /// Returns the declared effects.
    #[must_use]
    pub fn effects(&self) -> Effects {
        self.0.facts.effects
    }

    /// Returns where the tool comes from, such as the alias of a server, if that was set. Policies can name all tools of a source.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.0.facts.source.as_deref()
    }

    /// Returns whether its results contain private data: see [`ToolBuilder::reads_private`].
    #[must_use]
    pub fn reads_private(&self) -> bool {
        self.0.facts.reads_private
    }

    /// Returns whether data can leave through its calls: see [`ToolBuilder::sends_out`].
    #[must_use]
    pub fn sends_out(&self) -> bool {
        self.0.facts.sends_out
    }

    /// Returns the timeout of a call.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.0.facts.timeout
    }

    /// Returns the maximum size of a result in bytes. `None` if the limit of the runner applies.
    #[must_use]
    pub fn max_result_bytes(&self) -> Option<u64> {
        self.0.facts.max_result_bytes
    }

    /// Returns whether calls may run concurrently with others.
    #[must_use]
    pub fn concurrency(&self) -> Concurrency {
        self.0.facts.concurrency
    }

    /// Returns the hooks for its results.
    pub(crate) fn result_hooks(&self) -> &[Arc<dyn ResultHook>] {
        &self.0.facts.result_hooks
    }

    /// Returns the reconciler, if there is one.
    pub(crate) fn reconciler(&self) -> Option<&Arc<dyn Reconcile>> {
        self.0.facts.reconcile.as_ref()
    }

    /// Returns the types of state that the tool needs and that are missing.
    pub(crate) fn missing_state(&self, state: &TypeMap) -> impl Iterator<Item = &'static str> {
        let required = self.0.facts.required_state.iter();
        required
            .filter(|wanted| !state.has(**wanted))
            .map(|wanted| wanted.name)
    }

    pub(crate) fn approval(&self) -> Option<&Arc<dyn ApprovalPolicy>> {
        self.0.facts.approval.as_ref()
    }

    /// Returns what the model sees: name, description and schema.
    #[must_use]
    pub fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: &self.0.facts.name,
            description: &self.0.facts.description,
            input_schema: self.0.schema.document(),
        }
    }

    /// Returns the version of the definition, if one was set.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.0.facts.version.as_deref()
    }

    /// Returns a digest of [`Tool::describe`], and of the version, the source and the labels `reads_private` and `sends_out` if they
    /// are set.
    /// Equal for equal definitions: an approval of one counts for the other.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        self.0.facts.fingerprint.get_or_init(|| {
            let facts = &*self.0.facts;
            let mut described = json!({
                "name": &*facts.name, "description": facts.description, "inputSchema": self.0.schema.document(),
            });
            let more = [
                ("version", facts.version.as_ref().map(|version| json!(version))),
                ("source", facts.source.as_ref().map(|source| json!(source))),
                ("readsPrivate", facts.reads_private.then(|| json!(true))),
                ("sendsOut", facts.sends_out.then(|| json!(true))),
            ];
            if let Some(fields) = described.as_object_mut() {
                let more = more.into_iter();
                fields.extend(more.filter_map(|(field, value)| Some((field.to_owned(), value?))));
            }
            digest_of(&described)
        })
    }

    /// Checks arguments like a call would, including external checks. Does not run the handler.
    ///
    /// Checks that take the context are not run: [`CheckedArgs::checks_not_run`] names them. [`Tool::validate_in`] runs them too.
    ///
    /// # Errors
    /// Returns `E_INVALID_TOOL_ARGS` with all faults.
    pub async fn validate(&self, args: impl Into<RawArgs>) -> Result<CheckedArgs, Error> {
        let checks = self.0.facts.context_checks.iter();
        let not_run = checks.map(|check| Arc::clone(&check.name)).collect();
        let checked = self.validate_with(&self.0.schema, args.into()).await?;
        Ok(checked.with_checks_not_run(not_run))
    }

    /// Checks arguments like a call in this context would, with all external checks. Does not run the handler.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::schema::Rejection;
    /// use turnwright_core::{DispatchContext, Tool};
    ///
    /// struct Cities(Vec<&'static str>);
    ///
    /// async fn known_city(args: Value, ctx: DispatchContext) -> Result<(), Rejection> {
    ///     let cities = ctx.state::<Cities>()?;
    ///     match args["city"].as_str() {
    ///         Some(city) if cities.0.contains(&city) => Ok(()),
    ///         _ => Err(Rejection::at("/city", "is not a known city")),
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let forecast = Tool::dynamic("forecast", json!({ "type": "object" }))
    ///     .description("Weather forecast for a city.")
    ///     .check("known_city", known_city)
    ///     .requires_state::<Cities>()
    ///     .handler(async |_, _| "sunny")
    ///     .build()?;
    /// let checked = forecast.validate(json!({ "city": "Atlantis" })).await?;
    /// assert_eq!(checked.checks_not_run(), ["known_city".into()]);
    ///
    /// let ctx = DispatchContext::builder().state(Cities(vec!["Oslo"])).build();
    /// assert!(forecast.validate_in(&ctx, json!({ "city": "Oslo" })).await.is_ok());
    /// let error = forecast.validate_in(&ctx, json!({ "city": "Atlantis" })).await.unwrap_err();
    /// assert_eq!(error.faults()[0].pointer, "/city");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns `E_INVALID_TOOL_ARGS` with all faults.
    pub async fn validate_in(
        &self,
        ctx: &DispatchContext,
        args: impl Into<RawArgs>,
    ) -> Result<CheckedArgs, Error> {
        self.validate_with(&self.schema_in(ctx), args.into()).await
    }

    async fn validate_with(&self, schema: &Schema, args: RawArgs) -> Result<CheckedArgs, Error> {
        let bound = self.check_and_bind(args);
        let (checked, _) = bound.map_err(|faults| self.refusal(faults))?;
        let asked = schema.ask_external(checked.value()).await;
        asked.map_err(|faults| self.refusal(faults))?;
        Ok(checked)
    }

    /// Returns whether there are external checks.
    pub(crate) fn has_checks(&self) -> bool {
        self.0.schema.has_external() || !self.0.facts.context_checks.is_empty()
    }

    /// Returns the schema with all external checks.
    pub(crate) fn schema_in(&self, ctx: &DispatchContext) -> Schema {
        let checks = self.0.facts.context_checks.iter();
        checks.fold(self.0.schema.clone(), |schema, check| {
            schema.checked_by(check.bind(ctx))
        })
    }

    /// Checks arguments and, for a typed tool, deserialises them. Does not run external checks or the handler. For contract
    /// tests.
    ///
    /// # Errors
    /// Returns `E_INVALID_TOOL_ARGS` with all faults. The rule `deserialize` means that the schema accepts what the type rejects.
    pub fn probe(&self, args: &Value) -> Result<CheckedArgs, Error> {
        self.check_and_bind(args.clone().into())
            .map(|(checked, _)| checked)
            .map_err(|faults| self.refusal(faults))
    }

    pub(crate) fn refusal(&self, faults: InvalidArguments) -> Error {
        Error::invalid_args(Some(&format!("`{}`", self.0.facts.name)), faults)
    }

    /// Checks the schema, then the type.
    pub(crate) fn check_and_bind(
        &self,
        raw: RawArgs,
    ) -> Result<(CheckedArgs, BoundHandler), InvalidArguments> {
        let opened = self.0.schema.open(&raw)?;
        let checked = self.0.schema.judge(raw, opened)?;
        let bound = self.bind(checked.value())?;
        Ok((checked, bound))
    }

    pub(crate) fn bind(&self, args: &Value) -> Result<BoundHandler, InvalidArguments> {
        // The deserialiser is user code: a panic in it is a rejection.
        let bound =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.0.handler.bind(args)));
        let why = match bound {
            Ok(Ok(bound)) => return Ok(bound),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its type panicked".to_owned(),
        };
        // The message may be the author's own and is not meant for the model.
        let message = "match the schema but were rejected by the tool: try other values";
        let mut faults = InvalidArguments::from(Fault::new("", "deserialize", message));
        faults.note(format!(
            "the argument type rejects what the schema accepts: {why}"
        ));
        Err(faults)
    }
}

debug_fields!(Tool { name(), description() });

/// Methods that add tools accept a tool and the result of building one.
impl From<Tool> for Result<Tool, Error> {
    fn from(tool: Tool) -> Self {
        Ok(tool)
    }
}
