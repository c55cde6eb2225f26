//! What a turn is made of, and what it holds while it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::meter::Meter;
use super::outer::Outer;
use super::setup::Setup;
use crate::answer::AnswerFormat;
use crate::cancel::Cancellation;
use crate::event::{EventBus, EventHub};
use crate::gate::{GateNumbers, RecordedGates, TurnGates};
use crate::ids::CallIds;
use crate::lease::HeldLease;
use crate::outcome::{Stop, TurnOutcome};
use crate::record_log::Records;
use crate::render::Taint;
use crate::settings::TurnSettings;
use crate::stash::Stash;
use crate::state::TypeMap;
use crate::store::ConversationId;
use crate::task::Tasks;
use crate::tool::registry::ToolRegistry;
use crate::usage::Usage;

/// What a turn holds.
pub(crate) struct TurnState {
    pub(crate) parts: TurnParts,
    pub(crate) started: Instant,
    /// Those who attached and wait for the outcome. `None` once it is out.
    pub(crate) watchers: Mutex<Option<Vec<oneshot::Sender<TurnOutcome>>>>,
    pub(crate) records: RwLock<Records>,
    pub(crate) ids: CallIds,
    pub(crate) ordinals: AtomicU64,
    pub(crate) usage: Mutex<Used>,
    pub(crate) meter: Meter,
    pub(crate) stop: Mutex<Option<Stop>>,
    /// The ids of the messages that were rejected as its answer.
    pub(crate) rejected: Mutex<Vec<Arc<str>>>,
    pub(crate) gates: TurnGates,
    /// What closes calls that were dropped on their way, and runs those that run side by side.
    pub(crate) tasks: Tasks,
    /// Calls that are on record and not settled, wherever they run.
    pub(crate) open_calls: Tasks,
    /// Of the conversation and the turn, for what must be apart from other turns'.
    pub(crate) digest: OnceLock<String>,
    /// It has ended: nothing is written for it any more.
    pub(crate) ended: Flag,
    /// The store took too long once.
    pub(crate) store_hangs: Flag,
    /// Held during a write to the store: writes keep their order.
    pub(crate) writes: tokio::sync::Mutex<()>,
    /// What executors and middleware keep for this turn.
    pub(crate) per_turn: Mutex<TypeMap>,
    /// Its lease of the conversation, once it has begun under a runner.
    pub(crate) hold: OnceLock<HeldLease>,
    /// See [`TurnRecord::nonce`](crate::record::TurnRecord), once it has begun under a runner.
    pub(crate) nonce: OnceLock<Option<Arc<str>>>,
    /// Something that it had to write was not written.
    pub(crate) unwritten: Flag,
    /// Another process has taken over the turn.
    pub(crate) taken_over: Flag,
    /// The gates at which it waited before it was resumed.
    pub(crate) recorded_gates: RecordedGates,
    /// Counts its gates.
    pub(crate) gate_numbers: GateNumbers,
    /// The taint that came from outside when the turn was begun, once it is resumed.
    pub(crate) taint_before: OnceLock<Taint>,
    /// The settings that apply, once the turn has begun.
    pub(crate) settings: OnceLock<TurnSettings>,
}

/// What was used of models: by the turn itself, and by turns that were made for its calls.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) itself: Usage,
    pub(crate) below: Usage,
}

/// What a turn is made of.
pub(crate) struct TurnParts {
    pub(crate) id: Arc<str>,
    pub(crate) conversation_id: ConversationId,
    /// Whether the store and the spool of the setup keep what the turn makes. If not, it lives in memory.
    pub(crate) stored: bool,
    pub(crate) setup: Arc<Setup>,
    pub(crate) tools: ToolRegistry,
    pub(crate) stash: Stash,
    pub(crate) events: EventBus,
    pub(crate) cancellation: Cancellation,
    /// The stream of the turn's events.
    pub(crate) hub: Arc<EventHub>,
    pub(crate) answer: Option<Arc<AnswerFormat>>,
    /// The turn of the call that it runs under.
    pub(crate) outer: Option<Outer>,
    /// Whether the policies and the taint of outer turns apply to it.
    pub(crate) inherits: bool,
    /// What its input sets.
    pub(crate) settings: TurnSettings,
    /// Where it runs, and where what it leaves behind is brought to its end.
    pub(crate) runtime: Option<Handle>,
}

impl TurnState {
    pub(crate) fn new(parts: TurnParts) -> Self {
        TurnState {
            ids: CallIds::new(&parts.id),
            // The gates of the outer turn answer for this one.
            gates: match &parts.outer {
                Some(outer) => outer.turn.inner().gates.below(),
                None => TurnGates::default(),
            },
            parts,
            started: Instant::now(),
            watchers: Mutex::new(Some(Vec::new())),
            records: RwLock::default(),
            ordinals: AtomicU64::new(0),
            usage: Mutex::default(),
            meter: Meter::new(),
            stop: Mutex::default(),
            rejected: Mutex::default(),
            tasks: Tasks::default(),
            open_calls: Tasks::default(),
            writes: tokio::sync::Mutex::default(),
            digest: OnceLock::new(),
            ended: Flag::default(),
            store_hangs: Flag::default(),
            per_turn: Mutex::default(),
            hold: OnceLock::new(),
            nonce: OnceLock::new(),
            unwritten: Flag::default(),
            taken_over: Flag::default(),
            recorded_gates: RecordedGates::default(),
            gate_numbers: GateNumbers::default(),
            taint_before: OnceLock::new(),
            settings: OnceLock::new(),
        }
    }
}

/// Set at most once.
#[derive(Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
