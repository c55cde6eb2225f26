//! A dispatch that stands by itself.

use std::sync::Arc;

use crate::cancel::Cancellation;
use crate::event::EventBus;
use crate::ids::new_id;
use crate::stash::Stash;
use crate::store::{ConversationId, Store};
use crate::tool::context::{DispatchContext, Setup, TurnContext, TurnParts, setup_methods};
use crate::tool::registry::ToolRegistry;

/// Makes a [`DispatchContext`] that stands by itself.
#[derive(Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct DispatchContextBuilder {
    turn_id: Option<Arc<str>>,
    conversation_id: Option<ConversationId>,
    tools: ToolRegistry,
    stash: Stash,
    events: EventBus,
    cancellation: Cancellation,
    setup: Setup,
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
}

impl DispatchContextBuilder {
    setup_methods!();

    fn setup(&mut self) -> &mut Setup {
        &mut self.setup
    }

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

    /// Where records are kept: calls that may change the world before they run, and what came of all. Nowhere unless told.
    pub fn store(mut self, store: impl Store + 'static, conversation_id: ConversationId) -> Self {
        self.setup.store = Some(Arc::new(store));
        self.conversation_id = Some(conversation_id);
        self
    }

    /// Makes the dispatch.
    #[must_use]
    pub fn build(mut self) -> DispatchContext {
        self.setup.take_spool_of_store();
        let fresh_id = || new_id().into();
        let id: Arc<str> = self.turn_id.unwrap_or_else(fresh_id);
        DispatchContext::of_turn(TurnContext::new(TurnParts {
            conversation_id: self
                .conversation_id
                .unwrap_or_else(|| ConversationId::new(Arc::clone(&id))),
            id,
            stored: true,
            setup: Arc::new(self.setup),
            tools: self.tools,
            stash: self.stash,
            events: self.events,
            cancellation: self.cancellation,
            stream: None,
            answer: None,
            outer: None,
            inherits: true,
            runtime: None,
        }))
    }
}

debug_fields!(DispatchContextBuilder { turn_id, tools });
