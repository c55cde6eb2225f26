//! Tools: one contract each.
//!
//! ```
//! use turnwright_core::{DispatchContext, Tool, ToolContext, ToolError};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// Whom to greet.
//!     #[schemars(length(min = 1))]
//!     name: String,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let greet = Tool::typed::<Greet>("greet")
//!     .description("Greets somebody.")
//!     .handler(|args: Greet, _ctx: ToolContext| async move { format!("Hello, {}!", args.name) })
//!     .build()?;
//!
//! let ctx = DispatchContext::standalone();
//! let output = greet.call(&ctx, r#"{"name": "Ada"}"#).await?;
//! assert_eq!(output.as_text(), Some("Hello, Ada!"));
//!
//! // The handler never sees this one:
//! let error = greet.call(&ctx, r#"{"name": ""}"#).await.unwrap_err();
//! assert_eq!(error.faults()[0].pointer, "/name");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

pub mod approval;
mod builder;
pub mod context;
mod elsewhere;
mod handler;
mod into_result;
mod json;
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
pub use builder::ToolBuilder;
pub use into_result::{IntoToolResult, Json};
pub use meta::Meta;
pub use output::{Content, ToolOutput};
pub use registry::ToolRegistry;
pub use result_hook::ResultHook;

pub(crate) use builder::LONGEST_NAME;
pub(crate) use handler::{BoundHandler, Handler, HandlerResult, Work};

use crate::artifact::{ArtifactKind, Inline};
use crate::checksum::digest_of;
use crate::error::Error;
use crate::schema::{
    CheckedArgs, ExternalCheck, Fault, InvalidArguments, MAX_DEPTH, RawArgs, Schema, inspect,
};
use crate::state::{StateType, TypeMap};
use crate::tool::approval::ApprovalPolicy;
use crate::tool::reconcile::Reconcile;

/// A capability that a model may call: a name, a description, a schema, and a handler that nothing but the call path
/// reaches. Immutable, cheap to clone.
#[derive(Clone)]
pub struct Tool(Arc<Inner>);

struct Inner {
    facts: Arc<Facts>,
    schema: Schema,
    handler: Handler,
}

/// What the author says of a tool: shared by tools that differ only in what they reach.
struct Facts {
    name: Arc<str>,
    description: String,
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
    result_hooks: Vec<Arc<dyn ResultHook>>,
    required_state: Vec<StateType>,
    fingerprint: OnceLock<String>,
}

/// What a model is shown of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDescription<'t> {
    /// The name to call it by.
    pub name: &'t str,
    /// What it does.
    pub description: &'t str,
    /// The document that is enforced.
    pub input_schema: &'t Value,
}

/// How the ids of readable calls stand in the schema of an artifact tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForgePolicy {
    /// As an enum: the schema names every call that can be read, and changes with them. No matching artifact, no tools.
    Enumerated,
    /// As any text, limited by a check of the same tool that names the readable calls: the schema never changes, and a
    /// provider's prompt cache holds.
    Stable,
}

impl Tool {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.facts.name
    }

    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.0.facts.name
    }

    /// Whether both are one tool, not only equal ones.
    pub(crate) fn is_same(&self, other: &Tool) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The same contract, with one more external check and another handler behind it. Cheap: nothing that a model is
    /// shown is made again, nor its fingerprint.
    pub(crate) fn reaching(&self, check: ExternalCheck, handler: Handler) -> Tool {
        Tool(Arc::new(Inner {
            facts: Arc::clone(&self.0.facts),
            schema: self.0.schema.clone().checked_by(check),
            handler,
        }))
    }

    /// The description.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.facts.description
    }

    /// The contract.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// What its results are, unless the handler says otherwise.
    #[must_use]
    pub fn artifact_kind(&self) -> ArtifactKind {
        self.0.facts.artifact_kind
    }

    /// Whether its results stand in the prompt themselves.
    #[must_use]
    pub fn inline(&self) -> Inline {
        self.0.facts.inline
    }

    /// Whether it reads artifacts: then its answers are text, are never trusted, and cannot be read by such a tool.
    #[must_use]
    pub(crate) fn is_artifact_tool(&self) -> bool {
        self.0.facts.artifact_tool
    }

    /// What the author said of it.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.0.facts.meta
    }

    /// Whether it lives for one dispatch only.
    #[must_use]
    pub fn is_ephemeral(&self) -> bool {
        self.0.facts.ephemeral
    }

    /// Whether the author vouches for the text that it returns.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.0.facts.trusted
    }

    /// What happens when it meets another of its name in a merge.
    #[must_use]
    pub fn on_collision(&self) -> OnCollision {
        self.0.facts.on_collision
    }

    /// What it does to the world.
    #[must_use]
    pub fn effects(&self) -> Effects {
        self.0.facts.effects
    }

    /// How long a call may take.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.0.facts.timeout
    }

    /// The most bytes that are kept of a result. `None` where the runner's bound applies.
    #[must_use]
    pub fn max_result_bytes(&self) -> Option<u64> {
        self.0.facts.max_result_bytes
    }

    /// Beside what it may run.
    #[must_use]
    pub fn concurrency(&self) -> Concurrency {
        self.0.facts.concurrency
    }

    /// The hooks for its results.
    pub(crate) fn result_hooks(&self) -> &[Arc<dyn ResultHook>] {
        &self.0.facts.result_hooks
    }

    /// What finds out what became of a call of it, if anything does.
    pub(crate) fn finds_out(&self) -> Option<&Arc<dyn Reconcile>> {
        self.0.facts.reconcile.as_ref()
    }

    /// The types of state that it needs and that are not there.
    pub(crate) fn missing_state(&self, state: &TypeMap) -> impl Iterator<Item = &'static str> {
        let required = self.0.facts.required_state.iter();
        required
            .filter(|wanted| !state.has(**wanted))
            .map(|wanted| wanted.name)
    }

    pub(crate) fn approval(&self) -> Option<&Arc<dyn ApprovalPolicy>> {
        self.0.facts.approval.as_ref()
    }

    /// What a model is shown: the three things of which the contract consists.
    #[must_use]
    pub fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: &self.0.facts.name,
            description: &self.0.facts.description,
            input_schema: self.0.schema.document(),
        }
    }

    /// A digest of what [`Tool::describe`] gives: equal for equal contracts.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        self.0.facts.fingerprint.get_or_init(|| {
            digest_of(&json!({
                "name": &*self.0.facts.name, "description": self.0.facts.description, "inputSchema": self.0.schema.document(),
            }))
        })
    }

    /// Says what the executor would say of these arguments, external checks included. Runs nothing.
    ///
    /// # Errors
    /// `E_INVALID_TOOL_ARGS` with all faults at once.
    pub async fn validate(&self, args: impl Into<RawArgs>) -> Result<CheckedArgs, Error> {
        let checked = self
            .check_and_bind(args.into())
            .map_err(|faults| self.refusal(faults))?
            .0;
        self.0
            .schema
            .ask_external(checked.value())
            .await
            .map_err(|faults| self.refusal(faults))?;
        Ok(checked)
    }

    /// Checks these arguments and, for a typed tool, deserialises them. Asks no external check, runs nothing: for tests
    /// of the contract.
    ///
    /// # Errors
    /// `E_INVALID_TOOL_ARGS` with all faults at once; the rule `deserialize` means that the schema accepts what the type
    /// does not.
    pub fn probe(&self, args: &Value) -> Result<CheckedArgs, Error> {
        // Looked at first: copying recurses.
        let admitted = inspect(args, MAX_DEPTH).map_err(|why| {
            let message = format!("cannot be checked: the value {why}");
            InvalidArguments::from(Fault::new("", "value", message))
        });
        admitted
            .and_then(|()| self.check_and_bind(args.clone().into()))
            .map(|(checked, _)| checked)
            .map_err(|faults| self.refusal(faults))
    }

    pub(crate) fn refusal(&self, faults: InvalidArguments) -> Error {
        Error::invalid_args(Some(&format!("`{}`", self.0.facts.name)), faults)
    }

    /// The schema's verdict, then the type's.
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
        // A type's own deserialiser is foreign code: a panic in it is a refusal.
        let bound =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.0.handler.bind(args)));
        let why = match bound {
            Ok(Ok(bound)) => return Ok(bound),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its type panicked on them".to_owned(),
        };
        // The text may be the author's own, and was not meant for the model.
        let message = "fit the schema but not what stands behind it: try other values";
        let mut faults = InvalidArguments::from(Fault::new("", "deserialize", message));
        faults.note(format!(
            "the argument type does not take what the schema accepts: {why}"
        ));
        Err(faults)
    }
}

debug_fields!(Tool { name(), description() });
