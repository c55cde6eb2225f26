//! Who decides whether a call may run.
//!
//! A policy looks at a checked call and allows it, denies it, rewrites its arguments or asks. Asking opens a gate for exactly
//! this call with exactly these arguments; an [`Approver`] answers, or somebody by the turn's
//! [`Gates`](crate::gate::Gates). An answer counts once. No answer is no.
//!
//! ```
//! use turnwright_core::tool::approval::{always, when, when_tainted};
//! use turnwright_core::DispatchContext;
//!
//! # let executor = |_: DispatchContext| async { Ok(()) };
//! let runner = turnwright_core::runner(executor)
//!     .policy(when(|call| call.tool().name() == "send_mail", "mail leaves the house"))
//!     .policy(when_tainted("somebody else's text stands in the prompt"))
//!     .build()?;
//! # let _ = always("");
//! # Ok::<(), turnwright_core::Error>(())
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

pub use crate::gate::approval_answer::Approval;

use crate::effects::Effects;
use crate::schema::escape;
use crate::tool::Tool;
use crate::tool::context::DispatchContext;

/// A policy: looks at a checked call and decides. Closures over [`PendingCall`] are policies.
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
    /// Decides. A policy that panics has decided to deny.
    async fn review(&self, call: &PendingCall<'_>) -> Review;
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

/// A policy of a closure whose argument need not be named: `policy(|call| …)`.
pub fn policy<F>(decide: F) -> impl ApprovalPolicy
where
    F: Fn(&PendingCall<'_>) -> Review + Send + Sync,
{
    decide
}

/// A policy that asks for every call.
pub fn always(reason: impl Into<String>) -> impl ApprovalPolicy {
    when(|_: &PendingCall<'_>| true, reason)
}

/// A policy that asks for calls of which something is true.
pub fn when<F>(is_so: F, reason: impl Into<String>) -> impl ApprovalPolicy
where
    F: Fn(&PendingCall<'_>) -> bool + Send + Sync,
{
    let reason = reason.into();
    move |call: &PendingCall<'_>| match is_so(call) {
        true => Review::ask(reason.clone()),
        false => Review::Allow,
    }
}

/// A policy that asks for every call of a tool that may change something: of each that does not say that it only reads.
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

/// A policy that asks while anything in the prompt was written by somebody else: what was proposed may be what they
/// wanted. Tools that read artifacts are not asked for: they reach nothing but what is there already.
///
/// As a runner's policy it asks for every other tool, also for one that only reads: a request can carry something out. Give it
/// to single tools, or write `when(|call| … && call.context().taint().is_tainted(), …)`, where that is too much.
pub fn when_tainted(reason: impl Into<String>) -> impl ApprovalPolicy {
    let reaches_out = |call: &PendingCall<'_>| !call.tool().is_artifact_tool();
    when(
        move |call: &PendingCall<'_>| reaches_out(call) && call.context().taint().is_tainted(),
        reason,
    )
}

/// What a policy decides.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Review {
    /// It may run.
    Allow,
    /// Somebody must be asked.
    Ask {
        /// Why, for whoever is asked.
        reason: String,
    },
    /// It may not run.
    Deny {
        /// Why, for operators.
        reason: String,
    },
    /// It may run with other arguments, which are checked again first.
    Rewrite(Value),
}

impl Review {
    /// Somebody must be asked.
    pub fn ask(reason: impl Into<String>) -> Self {
        Review::Ask {
            reason: reason.into(),
        }
    }

    /// It may not run.
    pub fn deny(reason: impl Into<String>) -> Self {
        Review::Deny {
            reason: reason.into(),
        }
    }
}

/// A checked call, as a policy sees it.
pub struct PendingCall<'c> {
    pub(crate) id: &'c str,
    pub(crate) checksum: &'c str,
    pub(crate) tool: &'c Tool,
    pub(crate) args: &'c Value,
    pub(crate) ctx: &'c DispatchContext,
}

impl PendingCall<'_> {
    /// Which call it is.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id
    }

    /// What was asked for: equal for equal calls.
    #[must_use]
    pub fn checksum(&self) -> &str {
        self.checksum
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        self.tool
    }

    /// The checked arguments.
    #[must_use]
    pub fn args(&self) -> &Value {
        self.args
    }

    /// The dispatch that it belongs to.
    #[must_use]
    pub fn context(&self) -> &DispatchContext {
        self.ctx
    }
}

/// Whoever answers when a policy asks. Async closures over [`ApprovalRequest`] are approvers:
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::tool::approval::{Approval, ApprovalRequest};
///
/// let ctx = DispatchContext::builder()
///     .approver(|request: ApprovalRequest| async move {
///         println!("may {} run with {}?", request.tool.name(), request.shown_args());
///         Approval::Granted
///     })
///     .build();
/// ```
#[async_trait]
pub trait Approver: Send + Sync {
    /// Answers for exactly this request. One that panics has refused.
    async fn ask(&self, request: ApprovalRequest) -> Approval;
}

#[async_trait]
impl<F, Fut> Approver for F
where
    F: Fn(ApprovalRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Approval> + Send,
{
    async fn ask(&self, request: ApprovalRequest) -> Approval {
        self(request).await
    }
}

/// What is asked. An answer counts once, and for this alone.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the gate that is open for it.
    pub gate: Arc<str>,
    /// Which call.
    pub id: String,
    /// The turn.
    pub turn_id: Arc<str>,
    /// The conversation.
    pub conversation: Arc<str>,
    /// For a call of a sub-agent: the names of the tools whose calls its turn runs under, the outermost first.
    pub outer_tools: Vec<Arc<str>>,
    /// The tool, as it is now: what it is called and does, its schema and its fingerprint.
    pub tool: Tool,
    /// The checked arguments.
    pub args: Value,
    /// Their digest.
    pub args_digest: String,
    /// Why somebody is asked.
    pub reason: String,
    /// How long there is to answer.
    pub expires_in: Duration,
}

// Arguments may hold secrets: none of these shows them.
debug_fields!(PendingCall<'_> { id, tool });
debug_fields!(ApprovalRequest { id, tool });

impl fmt::Debug for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Review::Allow => f.write_str("Allow"),
            Review::Ask { reason } => f.debug_struct("Ask").field("reason", reason).finish(),
            Review::Deny { reason } => f.debug_struct("Deny").field("reason", reason).finish(),
            Review::Rewrite(_) => f.write_str("Rewrite(..)"),
        }
    }
}

impl ApprovalRequest {
    /// The arguments as text that can be shown: signs that are not seen, or that would change how the rest is read, are
    /// escaped, so that what is approved is what is seen.
    #[must_use]
    pub fn shown_args(&self) -> String {
        escape(&self.args.to_string(), usize::MAX)
    }
}
