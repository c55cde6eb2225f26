//! The handle that everything in a turn works with.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;

use super::outer::Outer;
use super::setup::Setup;
use super::turn_state::{TurnParts, TurnState};
use crate::answer::AnswerFormat;
use crate::artifact::ArtifactLimits;
use crate::cancel::Cancellation;
use crate::checksum::digest_of;
use crate::event::{EventBus, EventKind, TurnEvent};
use crate::gate::GateTable;
use crate::ids::Id;
use crate::lease::HeldLease;
use crate::render::Taint;
use crate::spool::Spool;
use crate::stash::Stash;
use crate::store::{ConversationId, Store};
use crate::tool::registry::ToolRegistry;
use crate::trust::ConversationSecret;
use crate::usage::Usage;

/// One turn: its records, tools, stash, events, gates and cancellation. A handle: clones share it.
///
/// Middleware of a turn gets it; a [`DispatchContext`](crate::DispatchContext) is one too, and more.
#[derive(Clone)]
pub struct TurnContext(Arc<TurnState>);

impl TurnContext {
    pub(crate) fn new(parts: TurnParts) -> Self {
        TurnContext(Arc::new(TurnState::new(parts)))
    }

    /// What it holds.
    pub(crate) fn inner(&self) -> &TurnState {
        &self.0
    }

    /// The turn's id.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.0.parts.id
    }

    /// The conversation that it belongs to: where its records are kept. One of its own if its input named none; then
    /// nothing is kept there.
    #[must_use]
    pub fn conversation_id(&self) -> &ConversationId {
        &self.0.parts.conversation_id
    }

    /// The turn's tools. What is done to them is seen by no other turn.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.0.parts.tools
    }

    /// The turn's stash.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        &self.0.parts.stash
    }

    /// Where events go.
    #[must_use]
    pub fn events(&self) -> &EventBus {
        &self.0.parts.events
    }

    /// What calls the turn off.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.0.parts.cancellation
    }

    /// The runner's store, if there is one. A turn whose input named no conversation writes nothing there by itself, but
    /// reaches what other conversations keep there.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.setup().store.as_ref()
    }

    /// The store that keeps the records of this turn, if one does.
    pub(crate) fn record_store(&self) -> Option<&Arc<dyn Store>> {
        self.store().filter(|_| self.0.parts.stored)
    }

    /// Where the results of this turn are kept. Of a turn whose input named no conversation that is memory, for as long as
    /// its outcome or a reader holds them.
    #[must_use]
    pub fn spool(&self) -> &Arc<dyn Spool> {
        match self.0.parts.stored {
            true => &self.setup().spool,
            false => &self.setup().unkept,
        }
    }

    /// The spool id of a call's result. A spool may serve many conversations, whose turns may have equal ids: a digest of both comes
    /// first, short enough for a file name. The owner of the run comes last, so that a process that has lost the turn, and does
    /// not know that yet, does not overwrite the result of the new owner.
    pub(crate) fn spool_id(&self, call: &str) -> String {
        let digest = self.0.digest.get_or_init(|| {
            let mut digest = digest_of(&json!([self.conversation_id().as_str(), self.turn_id()]));
            digest.truncate(32);
            digest
        });
        match self.hold() {
            Some(hold) => format!("{digest}-{call}-{}", hold.fencing_token()),
            None => format!("{digest}-{call}"),
        }
    }

    /// The secret of this turn's conversation, under which its envelopes get their codes.
    ///
    /// # Errors
    /// The runner was given none, and the system has no randomness to give.
    pub fn secret(&self) -> io::Result<ConversationSecret> {
        let secret = match &self.setup().secret {
            Some(secret) => secret.clone(),
            None => ConversationSecret::of_process()?,
        };
        Ok(secret.for_conversation(self.conversation_id().as_str()))
    }

    /// The most bytes of text that stand in the prompt themselves, where the tool says nothing else.
    #[must_use]
    pub fn inline_limit(&self) -> u64 {
        self.setup().inline_limit
    }

    /// The bounds under which the artifacts of this turn answer.
    #[must_use]
    pub fn artifact_limits(&self) -> ArtifactLimits {
        self.setup().artifact_limits
    }

    /// The form that the turn's answer must have, if one was asked for.
    #[must_use]
    pub fn answer_format(&self) -> Option<&AnswerFormat> {
        self.0.parts.answer.as_deref()
    }

    /// How tainted the prompt is as it stands: every tier in it, earlier turns included. For a turn that runs under a call
    /// it includes the taint of the outer prompt when the turn was started: see
    /// [`TurnInput::under`](crate::TurnInput::under).
    #[must_use]
    pub fn taint(&self) -> Taint {
        let mut taint = self.outer_taint().unwrap_or_default();
        for call in self.tool_calls() {
            taint.add_tool_call(&call);
        }
        for found in self.retrievables() {
            taint.add_retrievable(&found);
        }
        for message in self.messages() {
            taint.add_message(&message);
        }
        taint
    }

    /// What the turn has used of models so far, turns that were made for its calls included.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let used = self.0.usage.lock();
        used.itself + used.below
    }

    /// What the turn has used itself.
    #[cfg(feature = "tracing")]
    pub(crate) fn own_usage(&self) -> Usage {
        self.0.usage.lock().itself
    }

    /// Adds to what the turn has used, and tells it.
    pub fn add_usage(&self, usage: Usage) {
        self.0.usage.lock().itself += usage;
        self.tell(|| EventKind::Usage { usage });
    }

    /// Adds what a turn has used that was made for one of its calls.
    pub(crate) fn add_usage_below(&self, usage: Usage) {
        self.0.usage.lock().below += usage;
        self.tell(|| EventKind::Usage { usage });
    }

    /// A handle that does not keep the turn alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakTurnContext {
        WeakTurnContext(Arc::downgrade(&self.0))
    }

    pub(crate) fn tell(&self, kind: impl FnOnce() -> EventKind) {
        self.events().tell(&self.0.parts.id, kind);
    }

    /// Sends an event to the reader of the turn's stream, and waits if it is slow. Returns whether it was received.
    pub(crate) async fn emit(&self, event: impl FnOnce() -> TurnEvent) -> bool {
        let full = match &*self.0.stream.lock() {
            None => return false,
            Some(stream) => match stream.try_reserve() {
                Ok(room) => {
                    room.send(event());
                    return true;
                }
                Err(TrySendError::Closed(())) => return false,
                Err(TrySendError::Full(())) => stream.clone(),
            },
        };
        // In a function of its own: the future without waiting stays small.
        Box::pin(crate::event::send(&full, self.cancellation(), event())).await
    }

    /// Whether anybody may read what the turn says.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.stream.lock().is_some()
    }

    /// Sends an event to the reader of the turn's stream if there is room: for events that may be missed.
    pub(crate) fn emit_now(&self, event: impl FnOnce() -> TurnEvent) {
        let stream = self.0.stream.lock().clone();
        if let Some(stream) = stream {
            crate::event::send_now(&stream, event);
        }
    }

    /// Ends the turn: its stream ends, and contexts that are still held can do nothing more.
    pub(crate) fn end(&self) {
        self.0.ended.set();
        self.cancellation().cancel();
        self.0.gates.end();
        drop(self.0.stream.lock().take());
        self.events().end();
    }

    /// What the turn holds of its conversation, once it has begun under a runner.
    pub(crate) fn hold(&self) -> Option<&HeldLease> {
        self.0.hold.get()
    }

    pub(crate) fn shared_id(&self) -> &Arc<str> {
        &self.0.parts.id
    }

    pub(crate) fn setup(&self) -> &Setup {
        self.shared_setup()
    }

    pub(crate) fn shared_setup(&self) -> &Arc<Setup> {
        &self.0.parts.setup
    }

    pub(crate) fn outer(&self) -> Option<&Outer> {
        self.0.parts.outer.as_ref()
    }

    pub(crate) fn gates(&self) -> &GateTable {
        self.0.gates.table()
    }

    /// This turn and those around it, whose gates are the same.
    pub(crate) fn and_outer(&self) -> impl Iterator<Item = &TurnContext> {
        std::iter::successors(Some(self), |turn| turn.outer().map(|outer| &outer.turn))
    }

    /// Where what is left behind is brought to its end: where the turn runs, or else here.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        let of_turn = self.0.parts.runtime.clone();
        of_turn.or_else(|| Handle::try_current().ok())
    }

    /// An id for a call, unlike any in this turn, and its ordinal.
    pub(crate) fn next_call(&self) -> (Id, u64) {
        loop {
            let id = self.0.ids.next();
            if !self.0.records.read().tool_calls.has(id.as_str()) {
                return (id, self.0.ordinals.fetch_add(1, Ordering::Relaxed));
            }
        }
    }

    /// Goes on counting where the turn was left.
    pub(crate) fn count_calls_from(&self, next: u64) {
        self.0.ids.go_on_from(next);
        self.0.ordinals.fetch_max(next, Ordering::Relaxed);
    }
}

/// A [`TurnContext`] that does not keep the turn alive.
#[derive(Clone, Debug)]
pub struct WeakTurnContext(Weak<TurnState>);

impl WeakTurnContext {
    /// The turn, if something else keeps it alive.
    #[must_use]
    pub fn upgrade(&self) -> Option<TurnContext> {
        self.0.upgrade().map(TurnContext)
    }
}

debug_fields!(TurnContext { turn_id(), tools() });
