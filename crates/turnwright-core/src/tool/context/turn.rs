//! The handle that everything in a turn works with.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::outer::Outer;
use super::setup::Setup;
use super::turn_state::{TurnParts, TurnState};
use crate::answer::AnswerFormat;
use crate::artifact::ArtifactLimits;
use crate::cancel::Cancellation;
use crate::checksum::digest_of;
use crate::error::ErrorCode;
use crate::event::{EventBus, EventHub, EventKind, TurnEventKind};
use crate::gate::GateTable;
use crate::ids::Id;
use crate::lease::HeldLease;
use crate::outcome::TurnOutcome;
use crate::record::RecordKind;
use crate::render::Taint;
use crate::spool::Spool;
use crate::stash::Stash;
use crate::storage::Storage;
use crate::store::{ConversationId, Store};
use crate::tool::registry::ToolRegistry;
use crate::trust::ConversationSecret;
use crate::usage::{ModelUsage, Usage};

/// One turn: its records, tools, stash, events, gates and cancellation. A handle: clones share it.
///
/// Middleware of a turn gets it. Executors and middleware of a dispatch reach it by
/// [`DispatchContext::turn`](crate::DispatchContext::turn), handlers by [`ToolContext::turn`](crate::ToolContext::turn).
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

    /// Returns the turn's cancellation. A handler that works with this one does not notice its own deadline: see
    /// [`ToolContext::cancellation`](crate::ToolContext::cancellation).
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.0.parts.cancellation
    }

    /// Where conversations are stored. A turn that names no conversation writes nothing there by itself, but can read what
    /// other conversations have.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.setup().storage
    }

    /// The store for the records of this turn, if it names a conversation.
    pub(crate) fn record_store(&self) -> Option<&Arc<dyn Store>> {
        self.0.parts.stored.then(|| self.storage().store())
    }

    /// The spool for the results of this turn. If it names no conversation this is memory, and a result lives for as long
    /// as the outcome or a reader holds it.
    pub(crate) fn spool(&self) -> &Arc<dyn Spool> {
        match self.0.parts.stored {
            true => self.storage().spool(),
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
    /// As [`Storage::secret`].
    pub fn secret(&self) -> io::Result<ConversationSecret> {
        let secret = self.storage().secret()?;
        Ok(secret.for_conversation(self.conversation_id().as_str()))
    }

    /// The most bytes of text that stand in the prompt themselves, where the tool says nothing else.
    #[must_use]
    pub(crate) fn inline_limit(&self) -> u64 {
        self.setup().inline_limit
    }

    /// The bounds under which the artifacts of this turn answer.
    #[must_use]
    pub(crate) fn artifact_limits(&self) -> ArtifactLimits {
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
        let records = self.0.records.read();
        (records.of_type()).for_each(|call| taint.add_tool_call(call));
        (records.of_type()).for_each(|found| taint.add_retrievable(found));
        (records.of_type()).for_each(|message| taint.add_message(message));
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

    /// Adds the usage of a model response to the turn's, and emits it on the stream and to observers. It counts for the turns
    /// around it too, which do not emit it again.
    pub(crate) fn add_usage(&self, usage: impl Into<ModelUsage>) {
        let usage = Arc::new(usage.into());
        self.0.usage.lock().itself += usage.tokens;
        for outer in self.and_outer().skip(1) {
            outer.0.usage.lock().below += usage.tokens;
        }
        self.emit(|| TurnEventKind::Usage(Arc::clone(&usage)));
        self.tell(|| EventKind::Usage(usage));
    }

    /// A handle that does not keep the turn alive.
    #[must_use]
    pub(crate) fn downgrade(&self) -> WeakTurnContext {
        WeakTurnContext(Arc::downgrade(&self.0))
    }

    pub(crate) fn tell(&self, kind: impl FnOnce() -> EventKind) {
        let parts = &self.0.parts;
        parts.events.tell(&parts.id, &parts.conversation_id, kind);
    }

    /// The stream of the turn's events.
    pub(crate) fn hub(&self) -> &Arc<EventHub> {
        &self.0.parts.hub
    }

    /// Emits an event on the turn's stream. It is made only if it has, or may later have, a reader.
    pub(crate) fn emit(&self, kind: impl FnOnce() -> TurnEventKind) {
        self.hub().emit(kind);
    }

    /// Whether the events of the turn have, or may later have, a reader.
    pub(crate) fn is_heard(&self) -> bool {
        self.hub().is_heard()
    }

    /// Waits for the outcome from elsewhere. `None` if it is out already.
    pub(crate) fn watch_outcome(&self) -> Option<oneshot::Receiver<TurnOutcome>> {
        let (sender, receiver) = oneshot::channel();
        self.0.watchers.lock().as_mut()?.push(sender);
        Some(receiver)
    }

    /// Hands the outcome to those who attached.
    pub(crate) fn publish(&self, outcome: &TurnOutcome) {
        let watchers = self.0.watchers.lock().take();
        for watcher in watchers.into_iter().flatten() {
            // It may have gone.
            let _ = watcher.send(outcome.clone());
        }
    }

    /// Ends the turn: its stream ends, and contexts that are still held can do nothing more.
    pub(crate) fn end(&self) {
        self.0.ended.set();
        self.cancellation().cancel();
        self.0.gates.end();
        // The last event is out already, unless the runtime was shut down while the turn ran.
        self.hub().end(|| TurnEventKind::Ended {
            status: crate::record::TurnState::Aborted,
            code: Some(ErrorCode::TURN_ABORTED.as_str().into()),
            gates: Vec::new(),
            usage: self.usage(),
            duration: self.0.started.elapsed(),
        });
        self.events().end();
        // Nothing is left in it unless the runtime was shut down.
        drop(self.0.watchers.lock().take());
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
            if !self.0.records.read().has(RecordKind::ToolCall, id.as_str()) {
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
pub(crate) struct WeakTurnContext(Weak<TurnState>);

impl WeakTurnContext {
    /// Whether it is this turn.
    pub(crate) fn is(&self, turn: &TurnContext) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&turn.0))
    }

    /// The turn, if something else keeps it alive.
    #[must_use]
    pub(crate) fn upgrade(&self) -> Option<TurnContext> {
        self.0.upgrade().map(TurnContext)
    }
}

debug_fields!(TurnContext { turn_id(), tools() });
