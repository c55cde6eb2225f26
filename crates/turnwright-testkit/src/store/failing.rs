//! A store that fails on purpose.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::store::{
    Batch, ConversationId, Layered, Revision, Store, StoreError, StoreLayer,
};

/// A store that counts calls and fails on request. Clones share the counters and requests.
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{MemoryStore, ConversationId, StoreExt as _};
/// use turnwright_testkit::store::{Fail, FailingLayer};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = FailingLayer::store(MemoryStore::default());
/// let conversation = ConversationId::new("chat");
/// // The reply is lost. The write is not.
/// store.layer.fail_call(1, Fail::After);
/// let note = Memory::new("Stored nevertheless.").build()?;
/// assert!(store.put(&conversation, note).await.unwrap_err().is_outcome_unknown());
/// assert_eq!(store.memories(&conversation).await?.len(), 1);
/// assert_eq!(store.layer.calls(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub type FailingStore<S> = Layered<FailingLayer, S>;

/// The [`StoreLayer`] of a [`FailingStore`].
///
/// ```
/// use turnwright_core::store::{ConversationId, MemoryStore, StoreExt as _};
/// use turnwright_testkit::store::{Fail, FailingLayer};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, chat) = (FailingLayer::store(MemoryStore::default()), ConversationId::new("chat"));
/// store.layer.fail_each(2, Fail::Before);
/// assert!(store.messages(&chat).await.is_ok());
/// assert!(store.messages(&chat).await.is_err());
/// store.layer.stop_failing();
/// assert!(store.messages(&chat).await.is_ok());
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct FailingLayer(Arc<Mutex<Requests>>);

/// When a call fails.
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{ConversationId, MemoryStore, StoreExt as _};
/// use turnwright_testkit::store::{Fail, FailingLayer};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, chat) = (FailingLayer::store(MemoryStore::default()), ConversationId::new("chat"));
/// store.layer.fail_call(1, Fail::Before);
/// let error = store.put(&chat, Memory::new("Likes tea.").build()?).await.unwrap_err();
/// assert!(!error.is_outcome_unknown());
/// assert_eq!(store.layer.applied(), 0);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
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

impl FailingLayer {
    /// Wraps a store. It fails only on request.
    pub fn store<S: Store>(store: S) -> FailingStore<S> {
        Layered::new(FailingLayer::default(), store)
    }

    /// Fails every n-th call, counted from the first. 0 disables this.
    pub fn fail_each(&self, nth: u64, fail: Fail) {
        self.0.lock().each = (nth > 0).then_some((nth, fail));
    }

    /// Fails the n-th call from now on: 1 is the next.
    pub fn fail_call(&self, nth: u64, fail: Fail) {
        let mut requests = self.0.lock();
        let call = requests.calls + nth;
        requests.single.push((call, fail));
    }

    /// Stops failing.
    pub fn stop_failing(&self) {
        let mut requests = self.0.lock();
        requests.each = None;
        requests.single.clear();
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.0.lock().calls
    }

    /// Returns the number of batches that the store has applied.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.0.lock().applied
    }

    /// Returns the number of calls that failed on purpose.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.0.lock().failed
    }

    /// Counts a call. Returns how it must fail.
    fn next(&self) -> Option<Fail> {
        let mut requests = self.0.lock();
        requests.calls += 1;
        let call = requests.calls;
        let single = requests.single.iter().find(|(nth, _)| *nth == call);
        let single = single.map(|(_, fail)| *fail);
        let each = requests.each.filter(|(nth, _)| call.is_multiple_of(*nth));
        let fail = single.or(each.map(|(_, fail)| fail));
        requests.failed += u64::from(fail.is_some());
        fail
    }
}

#[async_trait]
impl StoreLayer for FailingLayer {
    async fn wrap<T: Send>(
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

    async fn apply(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.wrap(async {
            let applied = store.apply(conversation, batch).await?;
            self.0.lock().applied += 1;
            Ok(applied)
        })
        .await
    }
}
