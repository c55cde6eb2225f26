//! The handle that executors, middleware and tools work with.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::records::Records;
use super::signal::Signals;
use crate::artifact::ArtifactLimits;
use crate::call::{ApprovalPolicy, Approver, CallIds, Id, Ledger, ProposedCall};
use crate::cancel::Cancellation;
use crate::event::EventBus;
use crate::record::ToolCall;
use crate::registry::ToolRegistry;
use crate::schema::RawArgs;
use crate::spool::{Spool, Unkept};
use crate::stash::Stash;
use crate::trust::Taint;

/// What stands in a prompt itself unless told.
const INLINE_LIMIT: u64 = 4 * 1024;

/// One dispatch: its tools, stash, events, calls and cancellation. A handle: clones share it.
///
/// Usable by itself, to try and to test tools without a model:
///
/// ```
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let add = Tool::dynamic("add", json!({
///         "type": "object",
///         "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
///         "required": ["a", "b"],
///     }))
///     .description("Adds two numbers.")
///     .handler(|args: Value, _ctx: ToolContext| async move {
///         format!("{}", args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0))
///     })
///     .build()?;
/// let ctx = DispatchContext::builder().tools(ToolRegistry::new([add])?).build();
///
/// // All of the way that a model's call goes:
/// let record = ctx.call("add", r#"{"a": "2", "b": 3}"#).await;
/// assert_eq!(record.text().await.as_deref(), Some("5"));
/// assert_eq!(ctx.tool_calls().len(), 1);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct DispatchContext(Arc<Inner>);

struct Inner {
    turn_id: String,
    tools: ToolRegistry,
    stash: Stash,
    events: EventBus,
    cancellation: Cancellation,
    signals: Arc<Signals>,
    records: Records,
    inline_limit: u64,
    artifact_limits: ArtifactLimits,
    ids: CallIds,
    ordinals: AtomicU64,
    policy: Option<Arc<dyn ApprovalPolicy>>,
    approver: Option<Arc<dyn Approver>>,
    ledger: Option<Arc<dyn Ledger>>,
    spool: Arc<dyn Spool>,
}

/// Makes a [`DispatchContext`].
#[derive(Default)]
#[must_use]
pub struct DispatchContextBuilder {
    turn_id: Option<String>,
    tools: ToolRegistry,
    stash: Stash,
    events: EventBus,
    cancellation: Cancellation,
    policy: Option<Arc<dyn ApprovalPolicy>>,
    approver: Option<Arc<dyn Approver>>,
    ledger: Option<Arc<dyn Ledger>>,
    spool: Option<Arc<dyn Spool>>,
    inline_limit: Option<u64>,
    artifact_limits: ArtifactLimits,
}

impl DispatchContext {
    /// A dispatch without tools, over parts in memory.
    #[must_use]
    pub fn standalone() -> Self {
        DispatchContext::builder().build()
    }

    /// A dispatch of chosen parts.
    pub fn builder() -> DispatchContextBuilder {
        DispatchContextBuilder::default()
    }

    /// The turn that this belongs to.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.0.turn_id
    }

    /// The turn's tools.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.0.tools
    }

    /// The turn's stash.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        &self.0.stash
    }

    /// Where events go.
    #[must_use]
    pub fn events(&self) -> &EventBus {
        &self.0.events
    }

    /// What calls the dispatch off.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.0.cancellation
    }

    /// The most bytes of text that stand in the prompt themselves, where the tool says nothing else.
    #[must_use]
    pub fn inline_limit(&self) -> u64 {
        self.0.inline_limit
    }

    /// The bounds under which the artifacts of this dispatch answer.
    #[must_use]
    pub fn artifact_limits(&self) -> ArtifactLimits {
        self.0.artifact_limits
    }

    /// How tainted the prompt is as it stands: every tier in it, earlier turns included.
    #[must_use]
    pub fn taint(&self) -> Taint {
        let mut taint = Taint::default();
        let records = self.records();
        let calls = records.tool_calls.read();
        calls.values().for_each(|call| taint.add_tool_call(call));
        let found = records.retrievables.read();
        found
            .values()
            .for_each(|found| taint.add_retrievable(found));
        let said = records.messages.read();
        said.values().for_each(|said| taint.add_message(said));
        taint
    }

    /// Proposes a call: the beginning of the one path on which tools run.
    pub fn propose(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> ProposedCall {
        ProposedCall::new(self.clone(), tool.into().into(), args.into())
    }

    /// Proposes a call and takes it all the way: checked, admitted, run, settled. Whatever happens becomes the record.
    pub async fn call(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Arc<ToolCall> {
        self.propose(tool, args).complete().await
    }

    /// A handle that does not keep the dispatch alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakDispatchContext {
        WeakDispatchContext(Arc::downgrade(&self.0))
    }

    pub(super) fn records(&self) -> &Records {
        &self.0.records
    }

    pub(super) fn signals(&self) -> &Arc<Signals> {
        &self.0.signals
    }

    /// An id for a call, unlike any in this turn.
    pub(crate) fn next_call_id(&self) -> Id {
        loop {
            let id = self.0.ids.next();
            if !self.records().tool_calls.read().contains_key(id.as_str()) {
                return id;
            }
        }
    }

    pub(crate) fn next_ordinal(&self) -> u64 {
        self.0.ordinals.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn policy(&self) -> Option<&Arc<dyn ApprovalPolicy>> {
        self.0.policy.as_ref()
    }

    pub(crate) fn approver(&self) -> Option<&Arc<dyn Approver>> {
        self.0.approver.as_ref()
    }

    pub(crate) fn ledger(&self) -> Option<&Arc<dyn Ledger>> {
        self.0.ledger.as_ref()
    }

    pub(crate) fn spool(&self) -> &Arc<dyn Spool> {
        &self.0.spool
    }
}

impl DispatchContextBuilder {
    /// The turn that it belongs to. A new id unless told.
    pub fn turn_id(mut self, id: impl Into<String>) -> Self {
        self.turn_id = Some(id.into());
        self
    }

    /// The tools.
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = tools;
        self
    }

    /// The stash.
    pub fn stash(mut self, stash: Stash) -> Self {
        self.stash = stash;
        self
    }

    /// Where events go.
    pub fn events(mut self, events: EventBus) -> Self {
        self.events = events;
        self
    }

    /// What calls it off.
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Who decides whether a call may run, asked before the tool's own policy. Everything may run unless told.
    pub fn policy(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Who answers where a policy asks. Nobody unless told, and nobody's answer is no.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Who notes calls that may change the world. Nobody unless told.
    pub fn ledger(mut self, ledger: impl Ledger + 'static) -> Self {
        self.ledger = Some(Arc::new(ledger));
        self
    }

    /// Where results are kept. In memory unless told.
    pub fn spool(mut self, spool: impl Spool + 'static) -> Self {
        self.spool = Some(Arc::new(spool));
        self
    }

    /// The most bytes of text that stand in the prompt themselves, where the tool says nothing else. 4 KiB unless told;
    /// more becomes a handle.
    pub fn inline_limit(mut self, bytes: u64) -> Self {
        self.inline_limit = Some(bytes);
        self
    }

    /// The bounds under which artifacts answer.
    pub fn artifact_limits(mut self, limits: ArtifactLimits) -> Self {
        self.artifact_limits = limits;
        self
    }

    /// Makes the dispatch.
    #[must_use]
    pub fn build(self) -> DispatchContext {
        let turn_id = self
            .turn_id
            .unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        DispatchContext(Arc::new(Inner {
            ids: CallIds::new(&turn_id),
            turn_id,
            tools: self.tools,
            stash: self.stash,
            events: self.events,
            cancellation: self.cancellation,
            signals: Arc::default(),
            records: Records::default(),
            inline_limit: self.inline_limit.unwrap_or(INLINE_LIMIT),
            artifact_limits: self.artifact_limits,
            ordinals: AtomicU64::new(0),
            policy: self.policy,
            approver: self.approver,
            ledger: self.ledger,
            spool: self.spool.unwrap_or_else(|| Arc::new(Unkept)),
        }))
    }
}

/// A [`DispatchContext`] that does not keep the dispatch alive.
#[derive(Clone)]
pub struct WeakDispatchContext(Weak<Inner>);

impl WeakDispatchContext {
    /// The dispatch, if something else keeps it alive.
    #[must_use]
    pub fn upgrade(&self) -> Option<DispatchContext> {
        self.0.upgrade().map(DispatchContext)
    }
}

impl fmt::Debug for DispatchContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContext")
            .field("turn_id", &self.0.turn_id)
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for DispatchContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContextBuilder")
            .field("turn_id", &self.turn_id)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WeakDispatchContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakDispatchContext")
    }
}
