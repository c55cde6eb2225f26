//! A store that fails on purpose.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::Spool;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, Loaded, Query, Revision, Scope, ScopeFilter, Store, StoreError,
};

/// Stands around a store, counts what is asked of it, and fails when it is told to. Clones share what was counted and told.
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{MemoryStore, Scope, StoreExt as _};
/// use turnwright_testkit::store::{Fail, FailingStore};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = FailingStore::new(MemoryStore::default());
/// let scope = Scope::new("chat");
/// // The answer is lost, what was written is not.
/// store.fail_call(1, Fail::After);
/// let note = Memory::new("Kept all the same.").build()?;
/// assert!(store.put(&scope, note).await.is_err());
/// assert_eq!(store.memories(&scope).await?.len(), 1);
/// assert_eq!(store.calls(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct FailingStore<S> {
    inner: S,
    told: Arc<Mutex<Told>>,
}

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fail {
    /// Before anything was done.
    Before,
    /// After all was done: the answer is lost.
    After,
}

#[derive(Default)]
struct Told {
    calls: u64,
    failed: u64,
    applied: u64,
    each: Option<(u64, Fail)>,
    single: Vec<(u64, Fail)>,
}

impl<S> FailingStore<S> {
    /// Around this store; fails nowhere so far.
    pub fn new(inner: S) -> Self {
        let told = Arc::default();
        FailingStore { inner, told }
    }

    /// Fails each n-th call, counted from the first; 0 stops it.
    pub fn fail_each(&self, nth: u64, fail: Fail) {
        self.told.lock().each = (nth > 0).then_some((nth, fail));
    }

    /// Fails the n-th call from now on: 1 is the next.
    pub fn fail_call(&self, nth: u64, fail: Fail) {
        let mut told = self.told.lock();
        let call = told.calls + nth;
        told.single.push((call, fail));
    }

    /// Fails nowhere from now on.
    pub fn mend(&self) {
        let mut told = self.told.lock();
        told.each = None;
        told.single.clear();
    }

    /// How often it was called.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.told.lock().calls
    }

    /// How many batches reached the store and were applied.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.told.lock().applied
    }

    /// How many calls were made to fail.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.told.lock().failed
    }

    /// The store within.
    #[must_use]
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Counts a call; says how it is to fail.
    fn next(&self) -> Option<Fail> {
        let mut told = self.told.lock();
        told.calls += 1;
        let call = told.calls;
        let single = told.single.iter().find(|(nth, _)| *nth == call);
        let single = single.map(|(_, fail)| *fail);
        let each = told.each.filter(|(nth, _)| call.is_multiple_of(*nth));
        let fail = single.or(each.map(|(_, fail)| fail));
        told.failed += u64::from(fail.is_some());
        fail
    }

    async fn around<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match self.next() {
            None => work.await,
            Some(Fail::Before) => Err(StoreError::failed("made to fail before it was done")),
            Some(Fail::After) => {
                work.await?;
                Err(StoreError::failed("made to fail after it was done"))
            }
        }
    }
}

#[async_trait]
impl<S: Store> Store for FailingStore<S> {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        self.around(async {
            let applied = self.inner.apply(scope, batch).await?;
            self.told.lock().applied += 1;
            Ok(applied)
        })
        .await
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        self.around(self.inner.load(scope, query)).await
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        self.around(self.inner.scopes(filter)).await
    }

    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        self.around(self.inner.holding(kind, id)).await
    }

    fn is_persistent(&self) -> bool {
        self.inner.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.inner.spool()
    }
}

impl<S: fmt::Debug> fmt::Debug for FailingStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailingStore")
            .field("inner", &self.inner)
            .field("calls", &self.calls())
            .finish_non_exhaustive()
    }
}
