//! What a turn is created from, what the turns of one runner have in common, and the values that belong to a turn.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::outer::{Outer, RunningReads};
use crate::answer::AnswerFormat;
use crate::artifact::ArtifactLimits;
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::EventHub;
use crate::outcome::TurnOutcome;
use crate::principal::Principal;
use crate::record::TurnRecord;
use crate::render::Taint;
use crate::settings::TurnSettings;
use crate::spool::Spool;
use crate::stash::Stash;
use crate::state::TypeMap;
use crate::storage::Storage;
use crate::store::ConversationId;
use crate::tool::approval::{ApprovalPolicy, Approver};
use crate::tool::reconcile::Reconcile;
use crate::tool::registry::ToolRegistry;
use crate::tool::{ArtifactToolPolicy, ResultHook, Tool};

/// What a turn was created from, and the values that belong to it.
pub(crate) struct Wiring {
    pub(super) parts: TurnParts,
    /// Who the turn acts for. Known once a resumed turn has been loaded.
    pub(super) principal: OnceLock<Principal>,
    /// Attached handles that wait for the outcome. `None` once the turn has one.
    pub(super) watchers: Mutex<Option<Vec<oneshot::Sender<TurnOutcome>>>>,
    pub(super) running_reads: RunningReads,
    /// Data that executors and middleware store for this turn.
    per_turn: Mutex<TypeMap>,
    /// See [`TurnRecord::nonce`](crate::record::TurnRecord). Set once the turn has started under a runner.
    pub(super) nonce: OnceLock<Arc<str>>,
    /// For a resumed turn: the taint that it inherited at its start.
    pub(super) taint_before: OnceLock<Taint>,
    /// The settings that apply, once the turn has started.
    settings: OnceLock<TurnSettings>,
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
    pub(crate) cancellation: Cancellation,
    /// The events of the turn.
    pub(crate) hub: Arc<EventHub>,
    pub(crate) answer: Option<Arc<AnswerFormat>>,
    /// The turn of the outer call.
    pub(crate) outer: Option<Outer>,
    /// Whether the policies and the taint of outer turns apply.
    pub(crate) inherit_rules: bool,
    /// The settings of the input.
    pub(crate) settings: TurnSettings,
    /// The runtime in which the turn and its cleanup tasks run.
    pub(crate) runtime: Option<Handle>,
}

impl Wiring {
    pub(super) fn new(mut parts: TurnParts) -> Self {
        let principal = parts.principal.take();
        Wiring {
            principal: principal.map(OnceLock::from).unwrap_or_default(),
            parts,
            watchers: Mutex::new(Some(Vec::new())),
            running_reads: RunningReads::default(),
            per_turn: Mutex::default(),
            nonce: OnceLock::new(),
            taint_before: OnceLock::new(),
            settings: OnceLock::new(),
        }
    }

    /// Returns who the turn acts for: as named now, or else as recorded.
    pub(crate) fn principal_or(&self, recorded: &Principal) -> &Principal {
        self.principal.get_or_init(|| recorded.clone())
    }

    /// Returns the settings of the input.
    pub(crate) fn input_settings(&self) -> &TurnSettings {
        &self.parts.settings
    }

    /// Returns the settings that apply, once the turn has started.
    pub(crate) fn started_settings(&self) -> Option<&TurnSettings> {
        self.settings.get()
    }

    /// Returns the settings of the turn, combined with those of its runner.
    pub(crate) fn settings(&self) -> &TurnSettings {
        let own = || self.parts.settings.clone();
        let runner = &self.parts.setup.settings;
        self.settings.get_or_init(|| own().under_runner(runner))
    }

    /// Restores the settings of a resumed turn from its record. A turn is resumed once.
    pub(crate) fn resume_settings(&self, own: TurnSettings) {
        let _ = self
            .settings
            .set(own.under_runner(&self.parts.setup.settings));
    }

    /// Sets the nonce of the turn's record. A turn starts once.
    pub(crate) fn set_nonce(&self, record: &TurnRecord) {
        let _ = self.nonce.set(record.nonce.clone());
    }

    /// Returns the conversation whose history the turn reads, if it is not its own.
    pub(crate) fn about(&self) -> Option<&ConversationId> {
        self.parts.about.as_ref()
    }

    /// Returns the value of this type. It is created on first access.
    pub(crate) fn per_turn<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        if let Some(value) = self.per_turn.lock().get() {
            return value;
        }
        // Created outside of the lock, because it is user code.
        let made = T::default();
        let mut values = self.per_turn.lock();
        if let Some(value) = values.get() {
            drop(values);
            return value;
        }
        let made = Arc::new(made);
        values.put_shared(Arc::clone(&made));
        made
    }
}

/// What the turns of one runner have in common.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) storage: Storage,
    pub(crate) store_timeout: Duration,
    pub(crate) lease: Duration,
    pub(crate) unknown_calls: Option<Arc<dyn Reconcile>>,
    pub(crate) reuse_answers: bool,
    /// Whether turns are suspended when they can only wait.
    pub(crate) suspend_at_gates: bool,
    /// The spool of turns without a conversation.
    pub(crate) memory_spool: Arc<dyn Spool>,
    pub(crate) policies: Vec<Arc<dyn ApprovalPolicy>>,
    pub(crate) result_hooks: Vec<Arc<dyn ResultHook>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// `None`: [`Setup::DEFAULT_APPROVAL_TIMEOUT`], which counts only while a process waits.
    pub(crate) approval_timeout: Option<Duration>,
    pub(crate) inline_limit: u64,
    pub(crate) max_result_bytes: u64,
    pub(crate) max_spooled_media_bytes: u64,
    pub(crate) artifact_limits: ArtifactLimits,
    pub(crate) parallel_calls: usize,
    pub(crate) iteration_limit: u32,
    pub(crate) announce_last_iteration: bool,
    /// Whether the answer of an executor counts immediately.
    pub(crate) auto_ack: bool,
    /// How many times the model is asked again after a rejected answer.
    pub(crate) answer_retries: u32,
    pub(crate) artifact_tools: Option<ArtifactToolPolicy>,
    /// The name of the agent, for traces and metrics.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) trace_content: bool,
    pub(crate) state: TypeMap,
    /// Instructions, model settings and budget of every turn.
    pub(crate) settings: TurnSettings,
}

impl Setup {
    /// How long a process waits for an approval, if no timeout was set.
    pub(crate) const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(15 * 60);

    /// Checks that the state that tools need is present, and reports all missing types.
    pub(crate) fn check_state(&self, tools: &[Tool]) -> Result<(), Error> {
        let missing: Vec<String> = tools
            .iter()
            .flat_map(|tool| {
                let types = tool.missing_state(&self.state);
                types.map(|name| format!("the tool `{}` needs state of type `{name}`", tool.name()))
            })
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join("; ");
        let message = format!("{missing}: call `.state(value)` for each type");
        Err(Error::new(ErrorCode::MISSING_STATE, message))
    }
}

/// The defaults documented in the builders.
impl Default for Setup {
    fn default() -> Self {
        let storage = Storage::memory();
        Setup {
            memory_spool: Arc::clone(storage.spool()),
            storage,
            store_timeout: Duration::from_secs(60),
            lease: Duration::from_secs(30),
            unknown_calls: None,
            reuse_answers: true,
            suspend_at_gates: false,
            policies: Vec::new(),
            result_hooks: Vec::new(),
            approver: None,
            approval_timeout: None,
            inline_limit: 4 * 1024,
            max_result_bytes: 64 * 1024 * 1024,
            max_spooled_media_bytes: 64 * 1024 * 1024,
            artifact_limits: ArtifactLimits::default(),
            parallel_calls: 16,
            iteration_limit: 64,
            announce_last_iteration: false,
            auto_ack: true,
            answer_retries: 3,
            artifact_tools: Some(ArtifactToolPolicy::Stable),
            name: None,
            trace_content: false,
            state: TypeMap::default(),
            settings: TurnSettings::default(),
        }
    }
}
