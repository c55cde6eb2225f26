//! Approval of tool calls.
//!
//! A policy reviews a checked call and allows it, denies it, rewrites its arguments or requires approval. Approval opens a gate
//! for exactly this call with exactly these arguments. An [`Approver`] answers, or an external caller through the turn's
//! [`Gates`](crate::gate::Gates). An answer is valid once. No answer means no.
//!
//! ```
//! use turnwright_core::tool::approval::{always, when, when_tainted};
//! use turnwright_core::DispatchContext;
//!
//! # let executor = |_: DispatchContext| async { Ok(()) };
//! let runner = turnwright_core::runner(executor)
//!     .policy(when(|call| call.tool().name() == "send_mail", "sends mail"))
//!     .policy(when_tainted("the prompt contains third-party text"))
//!     .build()?;
//! # let _ = always("");
//! # Ok::<(), turnwright_core::Error>(())
//! ```
//!
//! | policy | purpose |
//! | --- | --- |
//! | [`always`], [`when`] | require approval for all calls, or by a condition |
//! | [`before_writes`] | requires approval for tools that are not marked `read_only` |
//! | [`when_tainted`] | requires approval while the prompt contains text of third parties |
//! | [`no_exfiltration`] | denies calls that could send private data out on behalf of a third party |
//! | [`quarantine`] | keeps the results of tools out of the prompt |
//! | [`once_per_turn`], [`rate_limit`] | limit how often tools are called |

mod no_exfiltration;
mod once_per_turn;
mod quarantine;
mod rate_limit;
mod review;
mod tool_pattern;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

pub use crate::record::GateAnswer;
pub use no_exfiltration::{NoExfiltration, no_exfiltration};
pub use once_per_turn::once_per_turn;
pub use quarantine::quarantine;
pub use rate_limit::rate_limit;
pub use review::Review;

pub(crate) use tool_pattern::ToolPattern;

use crate::effects::Effects;
use crate::principal::Principal;
use crate::record::{ResponseRef, TaintSource, ToolCall};
use crate::render::Taint;
use crate::schema::escape;
use crate::tool::Tool;
use crate::tool::context::DispatchContext;

/// A policy: reviews a checked call. Implemented for closures that take a [`PendingCall`].
///
/// ```
/// use turnwright_core::{Tool, ToolContext};
/// use turnwright_core::tool::approval::{PendingCall, Review};
/// use serde_json::{Value, json};
///
/// let tool = Tool::dynamic("remove", json!({
///         "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"],
///     }))
///     .description("Removes a file.")
///     .approval(|call: &PendingCall<'_>| match call.args()["path"].as_str() {
///         Some(path) if path.starts_with("/tmp/") => Review::Allow,
///         _ => Review::ask("it is outside of /tmp"),
///     })
///     .handler(|_: Value, _: ToolContext| async { "removed" })
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an approval policy",
    label = "expected a policy",
    note = "use `always(\"…\")`, `before_writes(\"…\")` or `when(|call| …, \"…\")` of `turnwright::approval`, or a function `fn(&PendingCall<'_>) -> Review`"
)]
#[async_trait]
pub trait ApprovalPolicy: Send + Sync {
    /// Reviews the call. A panic counts as a denial.
    async fn review(&self, call: &PendingCall<'_>) -> Review;

    /// Returns whether results of this tool are kept out of the prompt: see [`quarantine`]. Applies to every call of the tool,
    /// including those of turns under a call.
    ///
    /// Default: `false`.
    fn quarantines(&self, _tool: &Tool) -> bool {
        false
    }
}

#[async_trait]
impl<F> ApprovalPolicy for F
where
    F: Fn(&PendingCall<'_>) -> Review + Send + Sync,
{
    async fn review(&self, call: &PendingCall<'_>) -> Review {
        self(call)
    }
}

/// Creates a policy from a closure without type annotations: `policy(|call| …)`.
pub fn policy<F>(decide: F) -> impl ApprovalPolicy
where
    F: Fn(&PendingCall<'_>) -> Review + Send + Sync,
{
    decide
}

/// Requires approval for every call.
pub fn always(reason: impl Into<String>) -> impl ApprovalPolicy {
    when(|_: &PendingCall<'_>| true, reason)
}

/// Requires approval for calls that satisfy a condition.
pub fn when<F>(condition: F, reason: impl Into<String>) -> impl ApprovalPolicy
where
    F: Fn(&PendingCall<'_>) -> bool + Send + Sync,
{
    let reason = reason.into();
    move |call: &PendingCall<'_>| {
        if condition(call) {
            Review::ask(reason.clone())
        } else {
            Review::Allow
        }
    }
}

/// Requires approval for every tool that is not marked `read_only`.
///
/// ```
/// use turnwright_core::tool::approval::before_writes;
/// use turnwright_core::DispatchContext;
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let runner = turnwright_core::runner(executor).policy(before_writes("it may change something")).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub fn before_writes(reason: impl Into<String>) -> impl ApprovalPolicy {
    let writes = |call: &PendingCall<'_>| call.tool().effects() != Effects::ReadOnly;
    when(writes, reason)
}

/// Requires approval while the prompt contains text from third parties, because they may have caused the proposed call. Artifact
/// tools need no approval: they only read what is already there.
///
/// As a policy of a runner, it covers all other tools, including read-only ones: a request can leak data. If that is too strict,
/// set it on single tools, or use `when(|call| … && call.context().taint().is_tainted(), …)`.
pub fn when_tainted(reason: impl Into<String>) -> impl ApprovalPolicy {
    let reaches_out = |call: &PendingCall<'_>| !call.tool().is_artifact_tool();
    when(
        move |call: &PendingCall<'_>| reaches_out(call) && call.context().taint().is_tainted(),
        reason,
    )
}

/// A checked call, as a policy sees it.
pub struct PendingCall<'c> {
    pub(crate) record: &'c ToolCall,
    pub(crate) tool: &'c Tool,
    pub(crate) args: &'c Value,
    pub(crate) ctx: &'c DispatchContext,
}

impl PendingCall<'_> {
    /// Returns the call id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.record.id()
    }

    /// Returns the tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        self.tool
    }

    /// Returns the checked arguments.
    #[must_use]
    pub fn args(&self) -> &Value {
        self.args
    }

    /// Returns the taint of the prompt from which the call was proposed. Results of calls that the same response proposed do not
    /// count: the model had not read them when it wrote the arguments.
    #[must_use]
    pub fn taint(&self) -> Taint {
        let turn = self.ctx.turn();
        let response = self.record.response();
        let mut taint = turn.taint_before_response(response.map(ResponseRef::id));
        // The call may not be on record yet.
        if let Some(response) = response
            && self.ctx.records().get::<ToolCall>(self.id()).is_none()
        {
            taint.add_proposal(self.id(), self.tool.name(), response.exposure);
        }
        taint
    }

    /// Returns the dispatch in which the call runs.
    #[must_use]
    pub fn context(&self) -> &DispatchContext {
        self.ctx
    }
}

/// Answers when a policy requires approval. Implemented for async closures that take an [`ApprovalRequest`]:
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::tool::approval::{GateAnswer, ApprovalRequest};
///
/// let ctx = DispatchContext::builder()
///     .approver(|request: ApprovalRequest| async move {
///         println!("may {} run with {}?", request.tool.name(), request.shown_args());
///         GateAnswer::approve()
///     })
///     .build();
/// ```
#[async_trait]
pub trait Approver: Send + Sync {
    /// Answers this request. A panic counts as a denial.
    async fn ask(&self, request: ApprovalRequest) -> GateAnswer;
}

#[async_trait]
impl<F, Fut> Approver for F
where
    F: Fn(ApprovalRequest) -> Fut + Send + Sync,
    Fut: Future<Output = GateAnswer> + Send,
{
    async fn ask(&self, request: ApprovalRequest) -> GateAnswer {
        self(request).await
    }
}

/// A request for approval. An answer is valid once, for this request only.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the gate that is open for the request.
    pub gate: Arc<str>,
    /// The call id.
    pub id: String,
    /// The turn id.
    pub turn_id: Arc<str>,
    /// The conversation id.
    pub conversation: Arc<str>,
    /// For a call of a sub-agent: the names of the tools whose calls its turn runs under, outermost first.
    pub outer_tools: Vec<Arc<str>>,
    /// The tool, with its current description, schema and fingerprint.
    pub tool: Tool,
    /// The checked arguments.
    pub args: Value,
    /// The digest of the arguments.
    pub args_digest: String,
    /// Why approval is required.
    pub reason: String,
    /// The records that made the prompt untrusted or private, if that is the reason.
    pub sources: Vec<TaintSource>,
    /// Who must not approve, if the policy demands [four eyes](Review::by_another): the principal of the turn, and those of the outer
    /// turns up to the one that has the policy. An approval names [who gave it](crate::gate::GateAnswer::by) then. Empty otherwise.
    pub not_by: Vec<Principal>,
    /// The time left to answer.
    pub expires_in: Duration,
}

// Omits the arguments, which may contain secrets.
debug_fields!(PendingCall<'_> { record, tool });
debug_fields!(ApprovalRequest { id, tool });

impl ApprovalRequest {
    /// Returns the arguments as text that is safe to display. Invisible characters and those that change the text direction are
    /// escaped, so that the approver sees what is approved.
    #[must_use]
    pub fn shown_args(&self) -> String {
        escape(&self.args.to_string(), usize::MAX)
    }
}
