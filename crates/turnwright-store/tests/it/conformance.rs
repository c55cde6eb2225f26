//! The testkit's suite, for the store itself and behind one that fails.

use std::sync::Arc;

use async_trait::async_trait;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, Loaded, Query, Revision, Scope, ScopeFilter, Store, StoreError, StoreExt as _,
};
use turnwright_store::sqlite::{Durability, SqliteStore};
use turnwright_testkit::store::{Fail, FailingStore, conformance, damage_conformance};

use crate::folder::Folder;
use crate::note;

/// A store with the folder that it lives in.
struct Housed<S>(
    S,
    #[expect(dead_code, reason = "gone with the store")] Folder,
);

#[async_trait]
impl<S: Store> Store for Housed<S> {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        self.0.apply(scope, batch).await
    }
    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        self.0.load(scope, query).await
    }
    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        self.0.scopes(filter).await
    }
    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        self.0.holding(kind, id).await
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }
    fn spool(&self) -> Option<Arc<dyn turnwright_core::Spool>> {
        self.0.spool()
    }
}

async fn on_disk() -> Housed<SqliteStore> {
    let folder = Folder::new();
    Housed(SqliteStore::open(folder.file()).await.unwrap(), folder)
}

#[tokio::test]
async fn a_file_keeps_every_promise() {
    conformance(on_disk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_keeps_every_promise_on_many_threads() {
    conformance(async || {
        let folder = Folder::new();
        let builder = SqliteStore::builder(folder.file()).durability(Durability::Always);
        Housed(builder.readers(1).open().await.unwrap(), folder)
    })
    .await;
}

#[tokio::test]
async fn memory_keeps_every_promise() {
    conformance(async || SqliteStore::in_memory().await.unwrap()).await;
}

/// Two stores on one file, used in turns: nothing is known from memory.
struct InTurns(
    Housed<SqliteStore>,
    SqliteStore,
    std::sync::atomic::AtomicUsize,
);

impl InTurns {
    fn next(&self) -> &dyn Store {
        let calls = &self.2;
        match calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 {
            0 => &self.0,
            _ => &self.1,
        }
    }
}

#[async_trait]
impl Store for InTurns {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        self.next().apply(scope, batch).await
    }
    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        self.next().load(scope, query).await
    }
    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        self.next().scopes(filter).await
    }
    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        self.next().holding(kind, id).await
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }
    fn spool(&self) -> Option<Arc<dyn turnwright_core::Spool>> {
        self.0.spool()
    }
}

#[tokio::test]
async fn two_stores_on_one_file_keep_every_promise_together() {
    conformance(async || {
        let one = on_disk().await;
        let other = SqliteStore::open(one.0.path().unwrap()).await.unwrap();
        InTurns(one, other, Default::default())
    })
    .await;
}

/// Tries again what failed, as a caller would who knows that nothing was done.
struct Stubborn<S>(S);

impl<S: Store> Stubborn<S> {
    async fn until<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut work: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        loop {
            match work().await {
                Err(error) if error.to_string().contains("made to fail") => {}
                done => return done,
            }
        }
    }
}

#[async_trait]
impl<S: Store> Store for Stubborn<S> {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        self.until(|| self.0.apply(scope, batch.clone())).await
    }
    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        self.until(|| self.0.load(scope, query)).await
    }
    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        self.until(|| self.0.scopes(filter)).await
    }
    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        self.until(|| self.0.holding(kind, id)).await
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }
    fn spool(&self) -> Option<Arc<dyn turnwright_core::Spool>> {
        self.0.spool()
    }
}

#[tokio::test]
async fn every_promise_is_kept_where_each_nth_call_fails() {
    for nth in [2, 3, 7] {
        conformance(async || {
            let store = FailingStore::new(on_disk().await);
            store.fail_each(nth, Fail::Before);
            Stubborn(store)
        })
        .await;
    }
}

#[tokio::test]
async fn what_was_done_is_there_although_the_answer_was_lost() {
    for nth in [2, 3, 5] {
        let store = FailingStore::new(on_disk().await);
        store.fail_each(nth, Fail::After);
        let scope = Scope::new("chat");
        let mut answered = 0;
        for n in 0..60 {
            answered += u64::from(store.put(&scope, note(&n.to_string(), "x")).await.is_ok());
        }
        store.mend();
        assert_eq!((answered, store.applied()), (60 - 60 / nth, 60));
        let loaded = store.load(&scope, &Query::all()).await.unwrap();
        assert_eq!((loaded.revision, loaded.records.len()), (Revision(60), 60));
        store.inner().0.integrity_check().await.unwrap();
    }
}

#[tokio::test]
async fn a_name_with_a_nul_is_refused() {
    let store = Arc::new(on_disk().await);
    let error = store
        .put(&Scope::new("a\0b"), note("x", "x"))
        .await
        .unwrap_err();
    assert_eq!(
        crate::trouble(&error),
        turnwright_store::sqlite::Trouble::Refused
    );
    assert!(store.scopes(&ScopeFilter::all()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_fence_that_the_database_cannot_hold_is_refused_and_changes_nothing() {
    let store = on_disk().await;
    let scope = Scope::new("chat");
    let batch = Batch::new().put(note("a", "x")).fence(u64::MAX);
    let error = store.apply(&scope, batch).await.unwrap_err();
    assert_eq!(
        crate::trouble(&error),
        turnwright_store::sqlite::Trouble::Refused
    );
    let loaded = store.load(&scope, &Query::all()).await.unwrap();
    assert_eq!((loaded.revision, loaded.records.len()), (Revision(0), 0));
}

#[tokio::test]
async fn it_lists_what_it_cannot_read_and_goes_on() {
    let folder = Folder::new();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let file = |number: usize| folder.path().join(format!("{number}.db"));
    let make = async || {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        SqliteStore::open(file(number)).await.unwrap()
    };
    let damage = async |store: &SqliteStore, _: &Scope, kind: RecordKind, id: &str| {
        let conn = rusqlite::Connection::open(store.path().unwrap()).unwrap();
        let spoil = "UPDATE records SET body = body || ' ' WHERE kind = ?1 AND id = ?2";
        assert_eq!(conn.execute(spoil, [kind.as_str(), id]).unwrap(), 1);
    };
    damage_conformance(make, damage).await;
}
