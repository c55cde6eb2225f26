//! A store that takes its time, fails when it is told to, and remembers in which order it was written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::record::{CallState, RecordKind};
use turnwright_core::store::{
    Batch, Change, Loaded, Query, Revision, Scope, ScopeFilter, StoreError,
};
use turnwright_core::{MemoryStore, Record, Store, StoreExt as _};

use super::script::{Fault, Pace, StoreScript};

#[derive(Clone)]
pub(super) struct WatchedStore(Arc<Inner>);

struct Inner {
    memory: MemoryStore,
    script: StoreScript,
    applied: AtomicUsize,
    puts: Mutex<Vec<(Scope, Put)>>,
    failed: Mutex<Vec<Scope>>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Put {
    pub(super) kind: RecordKind,
    pub(super) id: String,
    /// Of a call: that it is complete. Of a line of the ledger: that it ended.
    pub(super) ended: bool,
}

impl WatchedStore {
    pub(super) fn new(script: StoreScript) -> Self {
        WatchedStore(Arc::new(Inner {
            memory: MemoryStore::default(),
            script,
            applied: AtomicUsize::new(0),
            puts: Mutex::default(),
            failed: Mutex::default(),
        }))
    }

    /// Whether the store refused something of this scope.
    pub(super) fn failed(&self, scope: &Scope) -> bool {
        self.0.failed.lock().contains(scope)
    }

    /// What was written to a scope, in order.
    pub(super) fn puts(&self, scope: &Scope) -> Vec<Put> {
        let puts = self.0.puts.lock();
        let of_scope = puts.iter().filter(|(of, _)| of == scope);
        of_scope.map(|(_, put)| put.clone()).collect()
    }

    /// Whether the call with this effect stands there as begun, and not as ended.
    pub(super) fn is_begun(&self, scope: &Scope, effect_key: &str) -> bool {
        let puts = self.puts(scope);
        let mut of_call = puts.iter().filter(|put| put.id == effect_key);
        of_call.next().is_some_and(|put| !put.ended) && of_call.next().is_none()
    }

    pub(super) async fn all(&self, scope: &Scope) -> Vec<Record> {
        self.0.memory.records(scope).await.unwrap()
    }

    /// Takes longer and shorter in turn, so that a write that does not wait for the one before it overtakes it.
    async fn pause(&self, count: usize) {
        let uneven = [3, 0, 2, 1][count % 4];
        match self.0.script.pace {
            Pace::AtOnce => {}
            Pace::Yields(times) => {
                for _ in 0..times + uneven {
                    tokio::task::yield_now().await;
                }
            }
            Pace::Sleeps(millis) => {
                tokio::time::sleep(Duration::from_millis(millis + uneven as u64)).await;
            }
        }
    }
}

#[async_trait]
impl Store for WatchedStore {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        let count = self.0.applied.fetch_add(1, Ordering::SeqCst) + 1;
        self.pause(count).await;
        match self.0.script.fault {
            Some((fault, at)) if at == count => {
                self.0.failed.lock().push(scope.clone());
                if fault == Fault::Panics {
                    std::panic::resume_unwind(Box::new("the store panics on purpose"));
                }
                return Err(StoreError::failed("on purpose"));
            }
            _ => {}
        }
        let puts: Vec<(Scope, Put)> = batch
            .changes
            .iter()
            .filter_map(put)
            .map(|put| (scope.clone(), put))
            .collect();
        let applied = self.0.memory.apply(scope, batch).await;
        // One that expected another revision changed nothing.
        if applied.is_ok() {
            self.0.puts.lock().extend(puts);
        }
        self.pause(count + 1).await;
        applied
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        self.0.memory.load(scope, query).await
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        self.0.memory.scopes(filter).await
    }

    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        self.0.memory.holding(kind, id).await
    }

    fn is_persistent(&self) -> bool {
        self.0.memory.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn turnwright_core::Spool>> {
        self.0.memory.spool()
    }
}

fn put(change: &Change) -> Option<Put> {
    let Change::Put(record) = change else {
        return None;
    };
    Some(Put {
        kind: record.kind(),
        id: record.id().to_owned(),
        ended: match record {
            Record::ToolCall(call) => call.is_complete(),
            Record::Ledger(entry) => entry.state() != CallState::Begun,
            _ => true,
        },
    })
}
