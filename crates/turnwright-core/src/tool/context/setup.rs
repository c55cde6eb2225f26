//! What the turns of one runner have in common.

use std::sync::Arc;
use std::time::Duration;

use crate::artifact::ArtifactLimits;
use crate::spool::{MemorySpool, Spool};
use crate::state::State;
use crate::store::Store;
use crate::tool::ForgePolicy;
use crate::tool::approval::{ApprovalPolicy, Approver};
use crate::tool::reconcile::Reconcile;
use crate::trust::ConversationSecret;

#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) store_timeout: Duration,
    pub(crate) lease: Duration,
    pub(crate) unknown_calls: Option<Arc<dyn Reconcile>>,
    pub(crate) recalls_answers: bool,
    pub(crate) spool: Arc<dyn Spool>,
    /// The program chose the spool.
    pub(crate) spool_given: bool,
    /// The spool of turns that no conversation was named for.
    pub(crate) unkept: Arc<dyn Spool>,
    pub(crate) secret: Option<ConversationSecret>,
    pub(crate) policies: Vec<Arc<dyn ApprovalPolicy>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) approval_timeout: Duration,
    pub(crate) inline_limit: u64,
    pub(crate) max_result_bytes: u64,
    pub(crate) artifact_limits: ArtifactLimits,
    pub(crate) parallel_calls: usize,
    pub(crate) iteration_limit: u32,
    pub(crate) forge: Option<ForgePolicy>,
    pub(crate) trace_content: bool,
    pub(crate) state: State,
}

/// The defaults that the methods of the builders name.
impl Default for Setup {
    fn default() -> Self {
        let unkept: Arc<dyn Spool> = Arc::new(MemorySpool::transient());
        Setup {
            store: None,
            store_timeout: Duration::from_secs(60),
            lease: Duration::from_secs(30),
            unknown_calls: None,
            recalls_answers: true,
            spool: Arc::clone(&unkept),
            spool_given: false,
            unkept,
            secret: None,
            policies: Vec::new(),
            approver: None,
            approval_timeout: Duration::from_secs(15 * 60),
            inline_limit: 4 * 1024,
            max_result_bytes: 64 * 1024 * 1024,
            artifact_limits: ArtifactLimits::default(),
            parallel_calls: 16,
            iteration_limit: 64,
            forge: Some(ForgePolicy::Stable),
            trace_content: false,
            state: State::default(),
        }
    }
}

impl Setup {
    /// Takes the spool of the store, unless another one was given.
    pub(crate) fn take_spool_of_store(&mut self) {
        let own = self.store.as_ref().and_then(|store| store.spool());
        if let Some(own) = own.filter(|_| !self.spool_given) {
            self.spool = own;
        }
    }
}

/// What the builders that make a [`Setup`] have in common.
macro_rules! setup_methods {
    () => {
        /// Sets the spool for the results and media of conversations. Default: the spool of the store if it has one. Otherwise
        /// memory, at most 1 GiB in all, each result for as long as a record holds it: a
        /// [`MemoryStore`](crate::store::MemoryStore) that deletes a conversation releases its results.
        pub fn spool(mut self, spool: impl crate::spool::Spool + 'static) -> Self {
            self.setup().spool = std::sync::Arc::new(spool);
            self.setup().spool_given = true;
            self
        }

        /// Something of yours that handlers and middleware reach by its type: see
        /// [`TurnContext::state`](crate::TurnContext::state). One of each type.
        pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
            self.setup().state.put(value);
            self
        }

        /// Who decides whether a call may run, asked before the tool's own policy. May be said more than once; everything may
        /// run unless told. Where a policy asks and there is neither an approver nor anybody who holds the turn's gates, the
        /// answer is no.
        pub fn policy(
            mut self,
            policy: impl crate::tool::approval::ApprovalPolicy + 'static,
        ) -> Self {
            self.setup().policies.push(std::sync::Arc::new(policy));
            self
        }

        /// Who answers where a policy asks.
        pub fn approver(
            mut self,
            approver: impl crate::tool::approval::Approver + 'static,
        ) -> Self {
            self.setup().approver = Some(std::sync::Arc::new(approver));
            self
        }

        /// How long somebody has to answer. 15 minutes unless told.
        pub fn approval_timeout(mut self, limit: std::time::Duration) -> Self {
            self.setup().approval_timeout = limit;
            self
        }

        /// The most bytes of text that stand in the prompt themselves, where the tool says nothing else. 4 KiB unless told;
        /// more becomes a handle.
        pub fn inline_limit(mut self, bytes: u64) -> Self {
            self.setup().inline_limit = bytes;
            self
        }

        /// The most bytes that are kept of one result, where the tool has no bound of its own
        /// ([`ToolBuilder::max_result_bytes`](crate::tool::ToolBuilder::max_result_bytes)). Text, bytes and streams are cut
        /// off there, up to three bytes earlier so that no character is split. The record says so
        /// ([`ToolCall::is_truncated`](crate::record::ToolCall::is_truncated)), the model is told, and operators get a
        /// warning. The sender of a stream finds it closed. Default: 64 MiB.
        pub fn max_result_bytes(mut self, bytes: u64) -> Self {
            self.setup().max_result_bytes = bytes;
            self
        }

        /// The bounds under which artifacts answer.
        pub fn artifact_limits(mut self, limits: crate::artifact::ArtifactLimits) -> Self {
            self.setup().artifact_limits = limits;
            self
        }
    };
}

pub(crate) use setup_methods;
