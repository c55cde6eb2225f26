//! Builds a dispatch without a runner.

use std::sync::Arc;

use crate::artifact::ArtifactLimits;
use crate::cancel::Cancellation;
use crate::error::Error;
use crate::event::{EventBus, EventHub};
use crate::gate::Gates;
use crate::ids::new_id;
use crate::principal::Principal;
use crate::settings::{ModelSettings, TurnSettings};
use crate::stash::Stash;
use crate::storage::Storage;
use crate::store::ConversationId;
use crate::tool::ResultHook;
use crate::tool::approval::{ApprovalPolicy, Approver};
use crate::tool::context::{DispatchContext, Setup, TurnContext, TurnParts};
use crate::tool::registry::ToolRegistry;

/// Builds a [`DispatchContext`] without a runner, for tests and for calling tools directly.
///
/// ```
/// use turnwright_core::{DispatchContext, ToolRegistry};
///
/// let ctx = DispatchContext::builder().tools(ToolRegistry::new([])?).build();
/// assert!(ctx.tools().all().is_empty());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
///
/// A clone is a template: everything is shared with it that [`tools`](Self::tools), [`stash`](Self::stash),
/// [`events`](Self::events) and [`cancellation`](Self::cancellation) do not replace.
#[derive(Clone, Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct DispatchContextBuilder {
    turn_id: Option<Arc<str>>,
    conversation_id: Option<ConversationId>,
    principal: Option<Principal>,
    tools: ToolRegistry,
    stash: Stash,
    events: EventBus,
    cancellation: Cancellation,
    setup: Setup,
}

impl DispatchContext {
    /// Creates a dispatch without tools that stores nothing.
    #[must_use]
    pub fn standalone() -> Self {
        DispatchContext::builder().build()
    }

    /// Returns a builder.
    pub fn builder() -> DispatchContextBuilder {
        DispatchContextBuilder::default()
    }

    /// Returns the handle for answering at the gates of this dispatch, including approvals. While it is held, calls wait for an
    /// answer instead of being denied. A turn of a runner has [`Turn::gates`](crate::Turn::gates).
    ///
    /// ```
    /// use serde_json::json;
    /// use turnwright_core::tool::approval::always;
    /// use turnwright_core::{DispatchContext, Tool, ToolRegistry};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let pay = Tool::dynamic("pay", json!({ "type": "object" }))
    ///     .description("Pays the bill.")
    ///     .approval(always("it costs money"))
    ///     .handler(async |_, _| "paid")
    ///     .build()?;
    /// let ctx = DispatchContext::builder().tools(ToolRegistry::new([pay])?).build();
    /// let mut gates = ctx.gates();
    /// let answer = async {
    ///     let gate = gates.next().await.unwrap();
    ///     gates.approve(&gate.id)
    /// };
    /// let (call, answered) = tokio::join!(ctx.call("pay", "{}"), answer);
    /// assert!(answered?);
    /// assert_eq!(call.text().await.as_deref(), Some("paid"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn gates(&self) -> Gates {
        Gates::new(self.turn().gates().clone())
    }
}

impl DispatchContextBuilder {
    /// Sets where records and results are stored, if [`conversation`](Self::conversation) is set.
    ///
    /// Default: [`Storage::memory`].
    pub fn storage(mut self, storage: Storage) -> Self {
        self.setup.storage = storage;
        self
    }

    /// Sets the conversation in which calls are recorded. Calls that may write are recorded before they run.
    ///
    /// Default: none; nothing is stored.
    pub fn conversation(mut self, id: impl AsRef<str>) -> Self {
        self.conversation_id = Some(ConversationId::new(id.as_ref()));
        self
    }

    /// Adds application state that handlers access by type: see [`TurnContext::state`](crate::TurnContext::state). One value per
    /// type.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.setup.state.put(value);
        self
    }

    /// Adds a policy that decides whether a call may run: see
    /// [`TurnRunnerBuilder::policy`](crate::runner::TurnRunnerBuilder::policy).
    pub fn policy(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.setup.policies.push(Arc::new(policy));
        self
    }

    /// Adds a hook that changes tool results before they are stored, shown in events or sent to the model: see [`ResultHook`].
    /// Hooks run in the order in which they are added.
    pub fn on_result(mut self, hook: impl ResultHook + 'static) -> Self {
        self.setup.result_hooks.push(Arc::new(hook));
        self
    }

    /// Sets the approver, which answers when a policy requires approval.
    ///
    /// Default: none.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.setup.approver = Some(Arc::new(approver));
        self
    }

    /// Sets the maximum size in bytes of a text result that is inlined into the prompt.
    ///
    /// Default: 4 KiB.
    pub fn inline_limit(mut self, bytes: u64) -> Self {
        self.setup.inline_limit = bytes;
        self
    }

    /// Sets the maximum size of a result in bytes: see
    /// [`TurnRunnerBuilder::max_result_bytes`](crate::runner::TurnRunnerBuilder::max_result_bytes).
    ///
    /// Default: 64 MiB.
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.setup.max_result_bytes = bytes;
        self
    }

    /// Sets the limits for artifact queries.
    pub fn artifact_limits(mut self, limits: ArtifactLimits) -> Self {
        self.setup.artifact_limits = limits;
        self
    }

    /// Sets the turn id.
    ///
    /// Default: a new id.
    pub fn turn_id(mut self, id: impl AsRef<str>) -> Self {
        self.turn_id = Some(id.as_ref().into());
        self
    }

    /// Sets who the calls act for: see [`TurnInput::principal`](crate::TurnInput::principal).
    ///
    /// Default: none.
    pub fn principal(mut self, principal: impl Into<Principal>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Sets the tools.
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the stash.
    pub fn stash(mut self, stash: Stash) -> Self {
        self.stash = stash;
        self
    }

    /// Sets the event bus.
    pub fn events(mut self, events: EventBus) -> Self {
        self.events = events;
        self
    }

    /// Sets the cancellation token.
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Sets the system prompt that the executor reads with [`DispatchContext::instructions`].
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.setup.settings.instruct(text.into());
        self
    }

    /// Sets the model settings that the executor reads with [`DispatchContext::settings`]. They are not validated.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        let TurnSettings { model, .. } = &mut self.setup.settings;
        *model = settings.over(model);
        self
    }

    /// Checks what [`build`](Self::build) does not: that the state that the tools need is present, and that the principal is valid.
    ///
    /// # Errors
    /// Returns `E_MISSING_STATE` or `E_INVALID_TURN_CONTEXT`.
    pub fn check(&self) -> Result<(), Error> {
        if let Some(principal) = &self.principal {
            principal.clone().checked()?;
        }
        self.setup.check_state(&self.tools.all())
    }

    /// Builds the dispatch.
    #[must_use]
    pub fn build(self) -> DispatchContext {
        let fresh_id = || new_id().into();
        let id: Arc<str> = self.turn_id.unwrap_or_else(fresh_id);
        let stored = self.conversation_id.is_some();
        let conversation_id = self
            .conversation_id
            .unwrap_or_else(|| ConversationId::new(Arc::clone(&id)));
        let hub = EventHub::new(Arc::clone(&id), conversation_id.shared()).observers(self.events);
        DispatchContext::of_turn(TurnContext::new(TurnParts {
            stored,
            about: None,
            conversation_id,
            id,
            principal: self.principal,
            setup: Arc::new(self.setup),
            tools: self.tools,
            stash: self.stash,
            cancellation: self.cancellation,
            hub: Arc::new(hub.capacity(1)),
            answer: None,
            outer: None,
            inherit_rules: true,
            settings: TurnSettings::default(),
            runtime: None,
        }))
    }
}

debug_fields!(DispatchContextBuilder { turn_id, tools });
