//! The state of a turn.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::meter::Meter;
use super::outer::{Outer, RunningReads};
use super::setup::Setup;
use crate::answer::AnswerFormat;
use crate::cancel::Cancellation;
use crate::event::{EventBus, EventHub};
use crate::gate::{GateNumbers, RecordedGates, TurnGates};
use crate::ids::CallIds;
use crate::lease::HeldLease;
use crate::outcome::{Stop, TurnOutcome};
use crate::principal::Principal;
use crate::record_log::Records;
use crate::render::Taint;
use crate::settings::TurnSettings;
use crate::stash::Stash;
use crate::state::TypeMap;
use crate::store::ConversationId;
use crate::task::Tasks;
use crate::tool::registry::ToolRegistry;
use crate::usage::ModelUsage;
use crate::usage::Usage;

/// The state of a turn.
pub(crate) struct TurnShared {
    pub(crate) parts: TurnParts,
    pub(crate) started: Instant,
    /// Who the turn acts for. Known once a resumed turn has been loaded.
    pub(crate) principal: OnceLock<Principal>,
    /// Attached handles that wait for the outcome. `None` once the turn has one.
    pub(crate) watchers: Mutex<Option<Vec<oneshot::Sender<TurnOutcome>>>>,
    pub(crate) records: RwLock<Records>,
    pub(crate) ids: CallIds,
    pub(crate) ordinals: AtomicU64,
    pub(crate) usage: Mutex<Used>,
    pub(crate) meter: Meter,
    pub(crate) stop: Mutex<Option<Stop>>,
    /// The ids of messages that were rejected as the answer.
    pub(crate) rejected: Mutex<Vec<Arc<str>>>,
    pub(crate) gates: TurnGates,
    /// What the running calls read.
    pub(crate) running_reads: RunningReads,
    /// Tasks that close dropped calls and run concurrent ones.
    pub(crate) tasks: Tasks,
    /// Recorded calls that are not settled.
    pub(crate) open_calls: Tasks,
    /// Digest of the conversation id and the turn id.
    pub(crate) digest: OnceLock<String>,
    /// Set when the turn has ended. Nothing is written for it any more.
    pub(crate) ended: Flag,
    /// Set when the store has timed out once.
    pub(crate) store_hangs: Flag,
    /// Held during a write to the store, so that writes stay in order.
    pub(crate) writes: tokio::sync::Mutex<()>,
    /// Data that executors and middleware store for this turn.
    pub(crate) per_turn: Mutex<TypeMap>,
    /// The lease of the conversation, once the turn has started under a runner.
    pub(crate) hold: OnceLock<HeldLease>,
    /// See [`TurnRecord::nonce`](crate::record::TurnRecord). Set once the turn has started under a runner.
    pub(crate) nonce: OnceLock<Arc<str>>,
    /// Set when a required write failed.
    pub(crate) unwritten: Flag,
    /// Set when another process has taken over the turn.
    pub(crate) taken_over: Flag,
    /// The gates at which the turn waited before it was resumed.
    pub(crate) recorded_gates: RecordedGates,
    /// Numbers the gates of the turn.
    pub(crate) gate_numbers: GateNumbers,
    /// For a resumed turn: the taint that it inherited at its start.
    pub(crate) taint_before: OnceLock<Taint>,
    /// The settings that apply, once the turn has started.
    pub(crate) settings: OnceLock<TurnSettings>,
}

/// Token usage of the turn itself, and of turns under its calls.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) itself: Usage,
    pub(crate) below: Usage,
    /// The responses of the running executor, for its span and metrics.
    pub(crate) responses: Vec<Arc<ModelUsage>>,
}

/// What a turn is created from.
pub(crate) struct TurnParts {
    pub(crate) id: Arc<str>,
    pub(crate) conversation_id: ConversationId,
    /// Who the turn acts for.
    pub(crate) principal: Option<Principal>,
    /// Whether records and results are written to the store and the spool. If not, they stay in memory.
    pub(crate) stored: bool,
    /// The conversation whose history the turn reads, if it is not its own.
    pub(crate) about: Option<ConversationId>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) tools: ToolRegistry,
    pub(crate) stash: Stash,
    pub(crate) events: EventBus,
    pub(crate) cancellation: Cancellation,
    /// The event stream of the turn.
    pub(crate) hub: Arc<EventHub>,
    pub(crate) answer: Option<Arc<AnswerFormat>>,
    /// The turn of the outer call.
    pub(crate) outer: Option<Outer>,
    /// Whether the policies and the taint of outer turns apply.
    pub(crate) inherits: bool,
    /// The settings of the input.
    pub(crate) settings: TurnSettings,
    /// The runtime in which the turn and its cleanup tasks run.
    pub(crate) runtime: Option<Handle>,
}

impl TurnShared {
    pub(crate) fn new(mut parts: TurnParts) -> Self {
        TurnShared {
            principal: parts
                .principal
                .take()
                .map(OnceLock::from)
                .unwrap_or_default(),
            ids: CallIds::new(&parts.id),
            // The gates of the outer turn are used for this one.
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
            running_reads: RunningReads::default(),
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

/// A flag that is set at most once.
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
