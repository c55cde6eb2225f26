//! The context of a turn.

use std::io;
use std::sync::{Arc, OnceLock, Weak};

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::journal::{Journal, Mark};
use super::limits::Limits;
use super::outer::Outer;
use super::wiring::{Setup, TurnParts, Wiring};
use crate::answer::AnswerFormat;
use crate::artifact::ArtifactLimits;
use crate::cancel::Cancellation;
use crate::checksum::digest_of;
use crate::error::ErrorCode;
use crate::event::{EventBus, EventHub, EventKind};
use crate::gate::TurnGates;
use crate::lease::TurnLease;
use crate::outcome::TurnOutcome;
use crate::principal::Principal;
use crate::record::{Exposure, Record, RecordKind, ResponseRef, ToolCall, TurnState};
use crate::render::Taint;
use crate::spool::Spool;
use crate::stash::Stash;
use crate::storage::{LiveTurn, Storage};
use crate::store::{ConversationId, Store};
use crate::tool::registry::ToolRegistry;
use crate::trust::ConversationSecret;
use crate::usage::{ModelUsage, Usage};

/// The context of a turn: its records, tools, stash, events, gates and cancellation. A handle: clones share the state.
///
/// Turn middleware receives it. Executors and dispatch middleware get it with
/// [`DispatchContext::turn`](crate::DispatchContext::turn), handlers with [`ToolContext::turn`](crate::ToolContext::turn).
#[derive(Clone)]
pub struct TurnContext(Arc<Owners>);

/// The owners of a turn's state.
struct Owners {
    journal: Journal,
    gates: TurnGates,
    limits: Limits,
    wiring: Wiring,
    /// Digest of the conversation id and the turn id.
    digest: OnceLock<String>,
}

impl TurnContext {
    pub(crate) fn new(parts: TurnParts) -> Self {
        TurnContext(Arc::new(Owners {
            journal: Journal::new(&parts.id),
            // The gates of the outer turn are used for this one.
            gates: match &parts.outer {
                Some(outer) => outer.turn.gates().for_inner_turn(),
                None => TurnGates::default(),
            },
            limits: Limits::new(),
            wiring: Wiring::new(parts),
            digest: OnceLock::new(),
        }))
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(crate) fn gates(&self) -> &TurnGates {
        &self.0.gates
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn wiring(&self) -> &Wiring {
        &self.0.wiring
    }

    pub(super) fn parts(&self) -> &TurnParts {
        &self.0.wiring.parts
    }

    /// Returns the turn id.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.parts().id
    }

    /// Returns the conversation to which the turn belongs, where its records are stored. If the input names none, it is a new one
    /// in which nothing is stored.
    #[must_use]
    pub fn conversation_id(&self) -> &ConversationId {
        &self.parts().conversation_id
    }

    /// Returns who the turn acts for, if its input names a principal: see
    /// [`TurnInput::principal`](crate::TurnInput::principal).
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.0.wiring.principal.get()
    }

    /// Returns the tools of the turn. Changes to them are not visible to other turns.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.parts().tools
    }

    /// Returns the stash of the turn.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        &self.parts().stash
    }

    /// Returns the event bus.
    #[must_use]
    pub fn events(&self) -> &EventBus {
        self.hub().bus()
    }

    /// Returns the cancellation token of the turn. It is not cancelled when a call times out: see
    /// [`ToolContext::cancellation`](crate::ToolContext::cancellation).
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.parts().cancellation
    }

    /// Returns the storage. A turn without a conversation writes nothing there by itself, but can read other conversations.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.setup().storage
    }

    /// Returns the store for the records of this turn, if it has a conversation.
    pub(crate) fn record_store(&self) -> Option<&Arc<dyn Store>> {
        self.parts().stored.then(|| self.storage().store())
    }

    /// Returns the spool for the results of this turn. Without a conversation it is in memory, and a result lives as long as the
    /// outcome or a reader holds it.
    pub(crate) fn spool(&self) -> &Arc<dyn Spool> {
        if self.parts().stored {
            self.storage().spool()
        } else {
            &self.setup().memory_spool
        }
    }

    /// Returns the spool id of a call's result. A spool may serve many conversations whose turns have equal ids, so the id starts
    /// with a digest of both that is short enough for a file name. It ends with the owner of the run, so that a process that has
    /// lost the turn, but does not know it yet, does not overwrite the result of the new owner.
    pub(crate) fn spool_id(&self, call: &str) -> String {
        let digest = self.0.digest.get_or_init(|| {
            let mut digest = digest_of(&json!([self.conversation_id().as_str(), self.turn_id()]));
            digest.truncate(32);
            digest
        });
        match self.lease() {
            Some(lease) => format!("{digest}-{call}-{}", lease.fencing_token()),
            None => format!("{digest}-{call}"),
        }
    }

    /// Returns the secret of the turn's conversation, from which the codes of its envelopes are derived.
    ///
    /// # Errors
    /// See [`Storage::secret`].
    pub fn secret(&self) -> io::Result<ConversationSecret> {
        let secret = self.storage().secret()?;
        Ok(secret.for_conversation(self.conversation_id().as_str()))
    }

    /// Returns the maximum size of text that is inlined into the prompt, unless the tool overrides it.
    #[must_use]
    pub(crate) fn inline_limit(&self) -> u64 {
        self.setup().inline_limit
    }

    /// Returns the limits for artifact queries in this turn.
    #[must_use]
    pub(crate) fn artifact_limits(&self) -> ArtifactLimits {
        self.setup().artifact_limits
    }

    /// Returns the format that the answer of the turn must have, if one was requested.
    #[must_use]
    pub fn answer_format(&self) -> Option<&AnswerFormat> {
        self.parts().answer.as_deref()
    }

    /// Returns the trust tiers and private data in the current prompt, including earlier turns. A turn that runs under a call includes the taint
    /// of the outer prompt at its start: see [`TurnInput::under_call`](crate::TurnInput::under_call).
    #[must_use]
    pub fn taint(&self) -> Taint {
        self.taint_before_response(None)
    }

    /// Returns the taint of the prompt from which a response was made: the results of calls that the same response proposed do
    /// not count, because the model had not read them.
    pub(crate) fn taint_before_response(&self, response_id: Option<&str>) -> Taint {
        let outer = self.outer_taint().unwrap_or_default();
        self.with_records(outer, response_id)
    }

    /// Returns what a record is exposed to that is written now.
    pub(crate) fn exposure(&self) -> Exposure {
        self.exposure_before_response(None)
    }

    /// Returns what a record of a response is exposed to.
    pub(crate) fn exposure_before_response(&self, response_id: Option<&str>) -> Exposure {
        let outer = self.outer_taint().unwrap_or_default();
        let taint = self.with_records(outer.without_sources(), response_id);
        taint.exposure()
    }

    /// Returns a record with what the running handlers have read, because one of them may have written it. Not a record of a model
    /// response, and not a call: what it returns is not known yet.
    pub(crate) fn with_reads_of_handlers(&self, record: Record) -> Record {
        if record.response().is_some() || record.kind() == RecordKind::ToolCall {
            return record;
        }
        let own = record.exposure().unwrap_or_default();
        record.exposed_to(own.and(self.0.wiring.running_reads.so_far()))
    }

    fn with_records(&self, mut taint: Taint, response_id: Option<&str>) -> Taint {
        let records = self.0.journal.records();
        let of_response = |call: &ToolCall| call.response().map(ResponseRef::id) == response_id;
        let was_read = |call: &ToolCall| response_id.is_none() || !of_response(call);
        records.of_type().for_each(|call: &Arc<ToolCall>| {
            if was_read(call) {
                taint.add_tool_call(call);
            } else {
                taint.add_proposal(call.id(), call.tool(), call.exposure());
            }
        });
        (records.of_type()).for_each(|found| taint.add_retrievable(found));
        (records.of_type()).for_each(|message| taint.add_message(message));
        (records.of_type()).for_each(|thought| taint.add_thought(thought));
        (records.of_type()).for_each(|memory| taint.add_memory(memory));
        taint
    }

    /// Returns the token usage of the turn so far, including turns under its calls.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.0.limits.usage()
    }

    /// Adds the usage of a model response and emits it on the event stream and to observers. It also counts for outer turns,
    /// which do not emit it again.
    pub(crate) fn add_usage(&self, usage: impl Into<ModelUsage>) {
        let usage = Arc::new(usage.into());
        self.0.limits.add_usage(&usage);
        for outer in self.and_outer().skip(1) {
            outer.0.limits.add_inner_usage(usage.tokens);
        }
        self.emit(|| EventKind::Usage(usage));
    }

    /// Returns the random text that identifies the turn, also after it was resumed. `None` for a turn without a runner.
    pub(crate) fn nonce(&self) -> Option<&str> {
        self.0.wiring.nonce.get().map(AsRef::as_ref)
    }

    /// Returns the format of the answer, for what outlives the turn.
    pub(crate) fn shared_answer_format(&self) -> Option<Arc<AnswerFormat>> {
        self.parts().answer.clone()
    }

    /// Returns a handle that does not keep the turn alive.
    #[must_use]
    pub(crate) fn downgrade(&self) -> WeakTurnContext {
        WeakTurnContext(Arc::downgrade(&self.0))
    }

    /// Returns the turn as its [`Storage`] lists it.
    pub(crate) fn erased(&self) -> Arc<LiveTurn> {
        Arc::clone(&self.0) as Arc<LiveTurn>
    }

    pub(crate) fn of_erased(turn: Arc<LiveTurn>) -> Option<Self> {
        turn.downcast().ok().map(TurnContext)
    }

    /// Returns the events of the turn.
    pub(crate) fn hub(&self) -> &Arc<EventHub> {
        &self.parts().hub
    }

    /// Emits an event: to observers, and on the event stream if it is public. It is created only if someone gets it.
    pub(crate) fn emit(&self, kind: impl FnOnce() -> EventKind) {
        self.hub().emit(kind);
    }

    /// Emits an event, also on the event streams of outer turns, which share their gates.
    pub(crate) fn emit_outward(&self, kind: EventKind) {
        for outer in self.and_outer().skip(1) {
            outer.hub().forward(self.hub().event(kind.clone()));
        }
        self.emit(|| kind);
    }

    /// Returns a receiver of the outcome. `None` if the turn already has one.
    pub(crate) fn watch_outcome(&self) -> Option<oneshot::Receiver<TurnOutcome>> {
        let (sender, receiver) = oneshot::channel();
        self.0.wiring.watchers.lock().as_mut()?.push(sender);
        Some(receiver)
    }

    /// Sends the outcome to attached handles.
    pub(crate) fn publish(&self, outcome: &TurnOutcome) {
        let watchers = self.0.wiring.watchers.lock().take();
        for watcher in watchers.into_iter().flatten() {
            // The receiver may have been dropped.
            let _ = watcher.send(outcome.clone());
        }
    }

    /// Ends the turn: ends its event stream and disables contexts that are still held.
    pub(crate) fn end(&self) {
        self.0.journal.mark(Mark::Ended);
        self.cancellation().cancel();
        self.0.gates.end();
        // The last event was already emitted, unless the runtime was shut down during the turn.
        self.hub().end(|| EventKind::TurnEnd {
            status: TurnState::Aborted,
            code: Some(ErrorCode::TURN_ABORTED.as_str().into()),
            message: Some("the turn was aborted: the runtime was shut down".to_owned()),
            blocked_by: None,
            gates: Vec::new(),
            usage: self.usage(),
            duration: self.0.limits.age(),
        });
        self.events().end();
        // Empty, unless the runtime was shut down.
        drop(self.0.wiring.watchers.lock().take());
    }

    /// Returns the lease of the conversation, once the turn has started under a runner.
    pub(crate) fn lease(&self) -> Option<&TurnLease> {
        self.0.journal.lease()
    }

    pub(crate) fn shared_id(&self) -> &Arc<str> {
        &self.parts().id
    }

    pub(crate) fn setup(&self) -> &Arc<Setup> {
        &self.parts().setup
    }

    pub(crate) fn outer(&self) -> Option<&Outer> {
        self.parts().outer.as_ref()
    }

    /// Iterates over this turn and its outer turns, which share their gates.
    pub(crate) fn and_outer(&self) -> impl Iterator<Item = &TurnContext> {
        std::iter::successors(Some(self), |turn| turn.outer().map(|outer| &outer.turn))
    }

    /// Returns the runtime for cleanup tasks: that of the turn, or else the current one.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        let of_turn = self.parts().runtime.clone();
        of_turn.or_else(|| Handle::try_current().ok())
    }
}

/// A [`TurnContext`] that does not keep the turn alive.
#[derive(Clone, Debug)]
pub(crate) struct WeakTurnContext(Weak<Owners>);

impl WeakTurnContext {
    /// Returns whether it is this turn.
    pub(crate) fn is(&self, turn: &TurnContext) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&turn.0))
    }

    /// Returns the turn, if it is still alive.
    #[must_use]
    pub(crate) fn upgrade(&self) -> Option<TurnContext> {
        self.0.upgrade().map(TurnContext)
    }
}

debug_fields!(TurnContext { turn_id(), tools() });
