//! The store suite of the testkit, for the store itself and behind a failing layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use turnwright_core::spool::Spool;

use async_trait::async_trait;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, Store, StoreError, StoreExt as _, TurnFilter,
};
use turnwright_sqlite::{Durability, SqliteErrorKind, SqliteStore};
use turnwright_testkit::store::{Fail, FailingStore, conformance, damage_conformance};

use crate::folder::Folder;
use crate::note;

/// A store with its folder, which is deleted with it.
struct Housed {
    _folder: Folder,
    store: SqliteStore,
}

#[async_trait]
impl Store for Housed {
    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.store.apply(conversation, batch).await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.store.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.store.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.store.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.store.spool()
    }
}

async fn on_disk() -> Housed {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    Housed {
        _folder: folder,
        store,
    }
}

#[tokio::test]
async fn file_passes_the_store_suite() {
    conformance(on_disk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_passes_the_store_suite_on_many_threads() {
    conformance(async || {
        let folder = Folder::new();
        let builder = SqliteStore::builder(folder.file()).durability(Durability::Always);
        let store = builder.open().await.unwrap();
        Housed {
            _folder: folder,
            store,
        }
    })
    .await;
}

#[tokio::test]
async fn in_memory_database_passes_the_store_suite() {
    conformance(async || SqliteStore::in_memory().await.unwrap()).await;
}

/// Two stores on one file, used alternately: nothing may be cached in memory.
struct InTurns {
    one: Housed,
    other: SqliteStore,
    calls: AtomicUsize,
}

impl InTurns {
    fn next(&self) -> &dyn Store {
        match self.calls.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => &self.one,
            _ => &self.other,
        }
    }
}

#[async_trait]
impl Store for InTurns {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.next().apply(conversation_id, batch).await
    }
    async fn load(
        &self,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.next().load(conversation_id, query).await
    }
    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.next().conversations(filter).await
    }
    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.next().find_turns(filter).await
    }
    async fn changed(
        &self,
        conversation_id: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.next().changed(conversation_id, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.one.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.one.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.one.spool()
    }
}

#[tokio::test]
async fn two_stores_on_one_file_pass_the_store_suite() {
    conformance(async || {
        let one = on_disk().await;
        let other = SqliteStore::open(one.store.path().unwrap()).await.unwrap();
        InTurns {
            one,
            other,
            calls: AtomicUsize::new(0),
        }
    })
    .await;
}

/// Retries failed calls. A batch whose reply was lost is applied again, which changes nothing.
struct Retry(FailingStore<Housed>);

macro_rules! retry {
    ($operation:expr) => {
        loop {
            match $operation.await {
                Err(error) if error.to_string().contains("made to fail") => {}
                done => return done,
            }
        }
    };
}

#[async_trait]
impl Store for Retry {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        retry!(self.0.apply(conversation_id, batch.clone()))
    }
    async fn load(
        &self,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        retry!(self.0.load(conversation_id, query))
    }
    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        retry!(self.0.conversations(filter))
    }
    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        retry!(self.0.find_turns(filter))
    }
    async fn changed(
        &self,
        conversation_id: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        retry!(self.0.changed(conversation_id, since))
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.0.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.0.spool()
    }
}

#[tokio::test]
async fn store_suite_passes_with_failing_calls_and_retries() {
    for (nth, fail) in [(2, Fail::Before), (3, Fail::After), (2, Fail::After)] {
        conformance(async || {
            let store = FailingStore::new(on_disk().await);
            store.fail_each(nth, fail);
            Retry(store)
        })
        .await;
    }
}

#[tokio::test]
async fn applied_batch_is_visible_after_a_lost_reply() {
    for nth in [2, 3, 5] {
        let housed = on_disk().await;
        let store = FailingStore::new(housed.store.clone());
        store.fail_each(nth, Fail::After);
        let conversation_id = ConversationId::new("chat");
        let mut answered = 0;
        for n in 0..60 {
            answered += u64::from(
                store
                    .put(&conversation_id, note(&n.to_string(), "x"))
                    .await
                    .is_ok(),
            );
        }
        store.stop_failing();
        assert_eq!((answered, store.applied()), (60 - 60 / nth, 60));
        let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
        assert_eq!((loaded.revision, loaded.records.len()), (Revision(60), 60));
        housed.store.integrity_check().await.unwrap();
    }
}

#[tokio::test]
async fn conversation_id_with_nul_is_rejected() {
    let store = Arc::new(on_disk().await);
    let error = store
        .put(&ConversationId::new("a\0b"), note("x", "x"))
        .await
        .unwrap_err();
    assert_eq!(crate::kind(&error), SqliteErrorKind::Invalid);
    assert!(
        store
            .conversations(&ConversationFilter::all())
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn too_large_fencing_token_is_rejected() {
    let store = on_disk().await;
    let conversation_id = ConversationId::new("chat");
    let batch = Batch::new().put(note("a", "x")).fencing_token(u64::MAX);
    let error = store.apply(&conversation_id, batch).await.unwrap_err();
    assert_eq!(crate::kind(&error), SqliteErrorKind::Invalid);
    let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
    assert_eq!((loaded.revision, loaded.records.len()), (Revision(0), 0));
}

#[tokio::test]
async fn damaged_records_are_listed_and_others_are_loaded() {
    let folder = Folder::new();
    let count = AtomicUsize::new(0);
    let file = |number: usize| folder.path().join(format!("{number}.db"));
    let make = async || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        SqliteStore::open(file(number)).await.unwrap()
    };
    let damage = async |store: &SqliteStore, _: &ConversationId, kind: RecordKind, id: &str| {
        let conn = rusqlite::Connection::open(store.path().unwrap()).unwrap();
        let spoil = "UPDATE records SET body = body || ' ' WHERE kind = ?1 AND id = ?2";
        assert_eq!(conn.execute(spoil, [kind.as_str(), id]).unwrap(), 1);
    };
    damage_conformance(make, damage).await;
}
