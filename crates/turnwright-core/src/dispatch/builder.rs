//! A dispatch that stands by itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::DispatchContext;
use crate::approval::{ApprovalPolicy, Approver};
use crate::artifact::ArtifactLimits;
use crate::cancel::Cancellation;
use crate::event::EventBus;
use crate::registry::ToolRegistry;
use crate::spool::Spool;
use crate::stash::Stash;
use crate::store::{Scope, Store};
use crate::turn::{Setup, TurnContext, TurnParts};

/// Makes a [`DispatchContext`] that stands by itself.
#[derive(Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct DispatchContextBuilder {
    turn_id: Option<Arc<str>>,
    scope: Option<Scope>,
    tools: ToolRegistry,
    stash: Stash,
    events: EventBus,
    cancellation: Cancellation,
    setup: Setup,
}

impl DispatchContextBuilder {
    /// The turn that it belongs to. A new id unless told.
    pub fn turn_id(mut self, id: impl Into<Arc<str>>) -> Self {
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
        self.setup.policies.push(Arc::new(policy));
        self
    }

    /// Who answers where a policy asks. Nobody unless told, and nobody's answer is no.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.setup.approver = Some(Arc::new(approver));
        self
    }

    /// How long somebody has to answer. 15 minutes unless told.
    pub fn approval_timeout(mut self, limit: Duration) -> Self {
        self.setup.approval_timeout = limit;
        self
    }

    /// Something of yours that handlers and middleware reach by its type: see [`TurnContext::state`](crate::TurnContext::state). One of each type.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.setup.state.put(value);
        self
    }

    /// Where records are kept: calls that may change the world before they run, and what came of all. Nowhere unless told.
    pub fn store(mut self, store: impl Store + 'static, scope: Scope) -> Self {
        self.setup.store = Some(Arc::new(store));
        self.scope = Some(scope);
        self
    }

    /// Where results are kept. In memory unless told.
    pub fn spool(mut self, spool: impl Spool + 'static) -> Self {
        self.setup.spool = Arc::new(spool);
        self
    }

    /// The most bytes of text that stand in the prompt themselves, where the tool says nothing else. 4 KiB unless told;
    /// more becomes a handle.
    pub fn inline_limit(mut self, bytes: u64) -> Self {
        self.setup.inline_limit = bytes;
        self
    }

    /// The bounds under which artifacts answer.
    pub fn artifact_limits(mut self, limits: ArtifactLimits) -> Self {
        self.setup.artifact_limits = limits;
        self
    }

    /// Makes the dispatch.
    #[must_use]
    pub fn build(self) -> DispatchContext {
        let fresh_id = || uuid::Uuid::now_v7().to_string().into();
        let id: Arc<str> = self.turn_id.unwrap_or_else(fresh_id);
        DispatchContext::of_turn(TurnContext::new(TurnParts {
            scope: self.scope.unwrap_or_else(|| Scope::new(Arc::clone(&id))),
            id,
            setup: Arc::new(self.setup),
            tools: self.tools,
            stash: self.stash,
            events: self.events,
            cancellation: self.cancellation,
            stream: None,
            answer: None,
        }))
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
