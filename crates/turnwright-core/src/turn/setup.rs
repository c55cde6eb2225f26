//! What the turns of one runner have in common.

use std::sync::Arc;
use std::time::Duration;

use super::state::State;
use crate::approval::{ApprovalPolicy, Approver};
use crate::artifact::{ArtifactLimits, ForgePolicy};
use crate::spool::{Spool, Unkept};
use crate::store::Store;
use crate::trust::ConversationSecret;

/// What stands in a prompt itself unless told.
const INLINE_LIMIT: u64 = 4 * 1024;
/// Calls that run at once unless told.
const PARALLEL_CALLS: usize = 16;
/// How long somebody has to answer unless told.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Iterations of a dispatch unless told.
const ITERATION_LIMIT: u32 = 64;

#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) spool: Arc<dyn Spool>,
    pub(crate) secret: Option<ConversationSecret>,
    pub(crate) policies: Vec<Arc<dyn ApprovalPolicy>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) approval_timeout: Duration,
    pub(crate) inline_limit: u64,
    pub(crate) artifact_limits: ArtifactLimits,
    pub(crate) parallel_calls: usize,
    pub(crate) iteration_limit: u32,
    pub(crate) forge: Option<ForgePolicy>,
    pub(crate) trace_content: bool,
    pub(crate) state: State,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            store: None,
            spool: Arc::new(Unkept),
            secret: None,
            policies: Vec::new(),
            approver: None,
            approval_timeout: APPROVAL_TIMEOUT,
            inline_limit: INLINE_LIMIT,
            artifact_limits: ArtifactLimits::default(),
            parallel_calls: PARALLEL_CALLS,
            iteration_limit: ITERATION_LIMIT,
            forge: Some(ForgePolicy::Stable),
            trace_content: false,
            state: State::default(),
        }
    }
}
