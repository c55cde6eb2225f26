//! The handle that everything in a turn works with.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::{fmt, io};

use parking_lot::{Mutex, RwLock};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::outer::Outer;
use super::setup::Setup;
use crate::answer::AnswerFormat;
use crate::artifact::ArtifactLimits;
use crate::cancel::Cancellation;
use crate::checksum::digest_of;
use crate::event::{EventBus, EventKind, TurnEvent};
use crate::gate::{GateTable, RecordedGates, TurnGates};
use crate::ids::{CallIds, Id};
use crate::lease::HeldLease;
use crate::outcome::Stop;
use crate::record_log::Records;
use crate::render::Taint;
use crate::spool::Spool;
use crate::stash::Stash;
use crate::state::State;
use crate::store::{ConversationId, Store};
use crate::task::Tasks;
use crate::tool::registry::ToolRegistry;
use crate::trust::ConversationSecret;
use crate::usage::Usage;

/// One turn: its records, tools, stash, events, gates and cancellation. A handle: clones share it.
///
/// Middleware of a turn gets it; a [`DispatchContext`](crate::DispatchContext) is one too, and more.
#[derive(Clone)]
pub struct TurnContext(Arc<Inner>);

struct Inner {
    parts: TurnParts,
    records: RwLock<Records>,
    ids: CallIds,
    ordinals: AtomicU64,
    usage: Mutex<Used>,
    stop: Mutex<Option<Stop>>,
    gates: TurnGates,
    /// Whoever reads what the turn says, until it has ended.
    stream: Mutex<Option<mpsc::Sender<TurnEvent>>>,
    /// What closes calls that were dropped on their way, and runs those that run side by side.
    tasks: Tasks,
    /// Calls that are on record and not settled, wherever they run.
    open_calls: Tasks,
    /// Of the conversation and the turn, for what must be apart from other turns'.
    digest: OnceLock<String>,
    /// It has ended: nothing is written for it any more.
    ended: AtomicBool,
    /// The store took too long once.
    store_hangs: AtomicBool,
    /// Held by whoever writes to the store: writes keep their order.
    writes: tokio::sync::Mutex<()>,
    /// What executors and middleware keep for this turn.
    per_turn: Mutex<State>,
    /// Its hold on the conversation, once it has begun.
    hold: OnceLock<HeldLease>,
    /// See [`TurnRecord::nonce`](crate::record::TurnRecord), once it has begun under a runner.
    nonce: OnceLock<Arc<str>>,
    /// Something that it had to write was not written.
    unwritten: AtomicBool,
    /// Somebody else has the turn now.
    taken_over: AtomicBool,
    /// The gates at which it waited before it was taken up again.
    recorded_gates: RecordedGates,
    /// The taint that came from outside when the turn was begun, once it is resumed.
    taint_before: OnceLock<Taint>,
}

/// What was used of models: by the turn itself, and by turns that were made for its calls.
#[derive(Default)]
struct Used {
    itself: Usage,
    below: Usage,
}

/// What a turn is made of.
pub(crate) struct TurnParts {
    pub(crate) id: Arc<str>,
    pub(crate) conversation_id: ConversationId,
    /// Whether the store and the spool of the setup keep what the turn makes. If not, it lives in memory.
    pub(crate) kept: bool,
    pub(crate) setup: Arc<Setup>,
    pub(crate) tools: ToolRegistry,
    pub(crate) stash: Stash,
    pub(crate) events: EventBus,
    pub(crate) cancellation: Cancellation,
    pub(crate) stream: Option<mpsc::Sender<TurnEvent>>,
    pub(crate) answer: Option<Arc<AnswerFormat>>,
    /// The turn of the call that it runs under.
    pub(crate) outer: Option<Outer>,
    /// Whether the policies and the taint of outer turns apply to it.
    pub(crate) inherits: bool,
    /// Where it runs, and where what it leaves behind is brought to its end.
    pub(crate) runtime: Option<Handle>,
}

impl TurnContext {
    pub(crate) fn new(mut parts: TurnParts) -> Self {
        TurnContext(Arc::new(Inner {
            stream: Mutex::new(parts.stream.take()),
            ids: CallIds::new(&parts.id),
            // The gates of the outer turn answer for this one.
            gates: match &parts.outer {
                Some(outer) => outer.turn.turn_gates().below(),
                None => TurnGates::default(),
            },
            parts,
            records: RwLock::default(),
            ordinals: AtomicU64::new(0),
            usage: Mutex::default(),
            stop: Mutex::default(),
            tasks: Tasks::default(),
            open_calls: Tasks::default(),
            writes: tokio::sync::Mutex::default(),
            digest: OnceLock::new(),
            ended: AtomicBool::new(false),
            store_hangs: AtomicBool::new(false),
            per_turn: Mutex::default(),
            hold: OnceLock::new(),
            nonce: OnceLock::new(),
            unwritten: AtomicBool::new(false),
            taken_over: AtomicBool::new(false),
            recorded_gates: RecordedGates::default(),
            taint_before: OnceLock::new(),
        }))
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
        self.store().filter(|_| self.0.parts.kept)
    }

    /// Where the results of this turn are kept. Of a turn whose input named no conversation that is memory, for as long as
    /// its outcome or a reader holds them.
    #[must_use]
    pub fn spool(&self) -> &Arc<dyn Spool> {
        match self.0.parts.kept {
            true => &self.setup().spool,
            false => &self.setup().unkept,
        }
    }

    /// The id under which the spool keeps the result of a call. A spool may serve many conversations, whose turns may have the
    /// same ids where you give them: so a digest of both stands before it, short enough for a file's name. Behind it stands by
    /// whom the turn is run: one who has lost it, and does not know that yet, keeps nothing in the place of another's.
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
        for said in self.messages() {
            taint.add_message(&said);
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

    /// Adds what the turn had used before it was taken up again.
    pub(crate) fn add_usage_before(&self, usage: Usage) {
        self.0.usage.lock().itself += usage;
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

    /// Gives an event to whoever reads the turn's stream, and waits for them if they are slow. Whether they got it.
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
        // Apart, so that whoever finds room does not carry the room for waiting.
        Box::pin(crate::event::send(&full, self.cancellation(), event())).await
    }

    /// Whether anybody may read what the turn says.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.stream.lock().is_some()
    }

    /// Gives an event to whoever reads the turn's stream, if there is room: for what cannot wait, and may be missed.
    pub(crate) fn emit_now(&self, event: impl FnOnce() -> TurnEvent) {
        let stream = self.0.stream.lock().clone();
        if let Some(stream) = stream {
            crate::event::send_now(&stream, event);
        }
    }

    /// It is over: whoever reads the stream comes to its end, and whoever kept the context can do nothing more with it.
    pub(crate) fn end(&self) {
        self.0.ended.store(true, Ordering::Release);
        self.cancellation().cancel();
        self.0.gates.end();
        drop(self.0.stream.lock().take());
        self.events().end();
    }

    /// What the turn holds of its conversation, once it has begun under a runner.
    pub(crate) fn hold(&self) -> Option<&HeldLease> {
        self.0.hold.get()
    }

    pub(crate) fn set_hold(&self, hold: HeldLease) {
        // A turn begins once.
        let _ = self.0.hold.set(hold);
    }

    /// What tells the idempotency keys of its calls from those of another turn of the same name, if it has that.
    pub(crate) fn nonce(&self) -> Option<&str> {
        self.0.nonce.get().map(|nonce| &**nonce)
    }

    pub(crate) fn set_nonce(&self, nonce: Option<Arc<str>>) {
        if let Some(nonce) = nonce {
            // A turn begins once.
            let _ = self.0.nonce.set(nonce);
        }
    }

    /// Whether what happens at its gates is to be noted.
    pub(crate) fn is_held(&self) -> bool {
        self.hold().is_some()
    }

    pub(crate) fn note_unwritten(&self) {
        self.0.unwritten.store(true, Ordering::Release);
    }

    pub(crate) fn has_unwritten(&self) -> bool {
        self.0.unwritten.load(Ordering::Acquire)
    }

    pub(crate) fn note_taken_over(&self) {
        self.0.taken_over.store(true, Ordering::Release);
    }

    pub(crate) fn is_taken_over(&self) -> bool {
        self.0.taken_over.load(Ordering::Acquire)
    }

    /// The gates at which it waited before it was taken up again.
    pub(crate) fn recorded_gates(&self) -> &RecordedGates {
        &self.0.recorded_gates
    }

    pub(crate) fn note_store_hangs(&self) {
        self.0.store_hangs.store(true, Ordering::Release);
    }

    pub(crate) fn store_hangs(&self) -> bool {
        self.0.store_hangs.load(Ordering::Acquire)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Acquire)
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

    pub(crate) fn inherits(&self) -> bool {
        self.0.parts.inherits
    }

    pub(crate) fn taint_before(&self) -> Option<&Taint> {
        self.0.taint_before.get()
    }

    pub(crate) fn set_taint_before(&self, taint: Taint) {
        // A turn is resumed once.
        let _ = self.0.taint_before.set(taint);
    }

    pub(crate) fn records(&self) -> &RwLock<Records> {
        &self.0.records
    }

    pub(crate) fn gates(&self) -> &GateTable {
        self.0.gates.table()
    }

    pub(crate) fn turn_gates(&self) -> &TurnGates {
        &self.0.gates
    }

    /// This turn and those around it, whose gates are the same.
    pub(crate) fn and_outer(&self) -> impl Iterator<Item = &TurnContext> {
        std::iter::successors(Some(self), |turn| turn.outer().map(|outer| &outer.turn))
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// Where what is left behind is brought to its end: where the turn runs, or else here.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        let of_turn = self.0.parts.runtime.clone();
        of_turn.or_else(|| Handle::try_current().ok())
    }

    pub(crate) fn open_calls(&self) -> &Tasks {
        &self.0.open_calls
    }

    pub(crate) fn writes(&self) -> &tokio::sync::Mutex<()> {
        &self.0.writes
    }

    pub(crate) fn per_turn_cell(&self) -> &Mutex<State> {
        &self.0.per_turn
    }

    pub(crate) fn stop_cell(&self) -> &Mutex<Option<Stop>> {
        &self.0.stop
    }

    /// An id for a call, unlike any in this turn.
    pub(crate) fn next_call_id(&self) -> Id {
        loop {
            let id = self.0.ids.next();
            if !self.records().read().has_tool_call(id.as_str()) {
                return id;
            }
        }
    }

    /// Goes on counting where the turn was left.
    pub(crate) fn count_calls_from(&self, next: u64) {
        self.0.ids.go_on_from(next);
        self.0.ordinals.fetch_max(next, Ordering::Relaxed);
    }

    pub(crate) fn next_ordinal(&self) -> u64 {
        self.0.ordinals.fetch_add(1, Ordering::Relaxed)
    }
}

/// A [`TurnContext`] that does not keep the turn alive.
#[derive(Clone)]
pub struct WeakTurnContext(Weak<Inner>);

impl WeakTurnContext {
    /// The turn, if something else keeps it alive.
    #[must_use]
    pub fn upgrade(&self) -> Option<TurnContext> {
        self.0.upgrade().map(TurnContext)
    }
}

impl fmt::Debug for TurnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnContext")
            .field("turn_id", &self.turn_id())
            .field("tools", self.tools())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WeakTurnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakTurnContext")
    }
}
