//! What the turns of one runner have in common.

use std::sync::Arc;
use std::time::Duration;

use crate::artifact::ArtifactLimits;
use crate::error::{Error, ErrorCode};
use crate::settings::TurnSettings;
use crate::spool::Spool;
use crate::state::TypeMap;
use crate::storage::Storage;
use crate::tool::approval::{ApprovalPolicy, Approver};
use crate::tool::reconcile::Reconcile;
use crate::tool::{ArtifactToolPolicy, ResultHook, Tool};

#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) storage: Storage,
    pub(crate) store_timeout: Duration,
    pub(crate) lease: Duration,
    pub(crate) unknown_calls: Option<Arc<dyn Reconcile>>,
    pub(crate) reuses_answers: bool,
    /// Whether turns are suspended when they can only wait.
    pub(crate) suspends: bool,
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
    pub(crate) announces_last_iteration: bool,
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
            reuses_answers: true,
            suspends: false,
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
            announces_last_iteration: false,
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
