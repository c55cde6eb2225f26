//! A store that fails on purpose.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::spool::Spool;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, Store, StoreError, TurnFilter,
};

/// A store that counts the calls of another one and fails on request. Clones share the counters and requests.
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{MemoryStore, ConversationId, StoreExt as _};
/// use turnwright_testkit::store::{Fail, FailingStore};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = FailingStore::new(MemoryStore::default());
/// let conversation = ConversationId::new("chat");
/// // The reply is lost. The write is not.
/// store.fail_call(1, Fail::After);
/// let note = Memory::new("Stored nevertheless.").build()?;
/// assert!(store.put(&conversation, note).await.unwrap_err().is_outcome_unknown());
/// assert_eq!(store.memories(&conversation).await?.len(), 1);
/// assert_eq!(store.calls(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct FailingStore<S> {
    inner: S,
    requests: Arc<Mutex<Requests>>,
}

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fail {
    /// Before anything was done.
    Before,
    /// After everything was done: the reply is lost. The error is
    /// [`outcome_unknown`](turnwright_core::store::StoreError::outcome_unknown).
    After,
}

#[derive(Debug, Default)]
struct Requests {
    calls: u64,
    failed: u64,
    applied: u64,
    each: Option<(u64, Fail)>,
    single: Vec<(u64, Fail)>,
}

impl<S: Store> FailingStore<S> {
    /// Wraps a store. It fails only on request.
    pub fn new(inner: S) -> Self {
        FailingStore {
            inner,
            requests: Arc::default(),
        }
    }

    /// Fails every n-th call, counted from the first. 0 disables this.
    pub fn fail_each(&self, nth: u64, fail: Fail) {
        self.requests.lock().each = (nth > 0).then_some((nth, fail));
    }

    /// Fails the n-th call from now on: 1 is the next.
    pub fn fail_call(&self, nth: u64, fail: Fail) {
        let mut requests = self.requests.lock();
        let call = requests.calls + nth;
        requests.single.push((call, fail));
    }

    /// Stops failing.
    pub fn stop_failing(&self) {
        let mut requests = self.requests.lock();
        requests.each = None;
        requests.single.clear();
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.requests.lock().calls
    }

    /// Returns the number of batches that the store has applied.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.requests.lock().applied
    }

    /// Returns the number of calls that failed on purpose.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.requests.lock().failed
    }

    /// Counts a call. Returns how it must fail.
    fn next(&self) -> Option<Fail> {
        let mut requests = self.requests.lock();
        requests.calls += 1;
        let call = requests.calls;
        let single = requests.single.iter().find(|(nth, _)| *nth == call);
        let each = requests.each.filter(|(nth, _)| call.is_multiple_of(*nth));
        let fail = single.copied().or(each).map(|(_, fail)| fail);
        requests.failed += u64::from(fail.is_some());
        fail
    }

    async fn call<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.next() {
            None => operation.await,
            Some(Fail::Before) => Err(StoreError::failed("made to fail before it was done")),
            Some(Fail::After) => {
                operation.await?;
                let error = "made to fail after it was done";
                Err(StoreError::outcome_unknown(error))
            }
        }
    }
}

#[async_trait]
impl<S: Store> Store for FailingStore<S> {
    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.call(async {
            let applied = self.inner.apply(conversation, batch).await?;
            self.requests.lock().applied += 1;
            Ok(applied)
        })
        .await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.call(self.inner.load(conversation, query)).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.call(self.inner.conversations(filter)).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.call(self.inner.find_turns(filter)).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.call(self.inner.changed(conversation, since)).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.inner.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.inner.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.inner.spool()
    }
}
