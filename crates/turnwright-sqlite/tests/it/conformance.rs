//! The store suite of the testkit, for the store itself and behind a failing layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Layered,
    Loaded, Query, Revision, Store, StoreError, StoreExt as _, StoreLayer, TurnFilter,
};
use turnwright_sqlite::{Durability, SqliteErrorKind, SqliteStore};
use turnwright_testkit::store::{Fail, FailingLayer, conformance, damage_conformance};

use crate::folder::Folder;
use crate::note;

/// The folder of a store, deleted with it.
impl StoreLayer for Folder {}

type Housed = Layered<Folder, SqliteStore>;

async fn on_disk() -> Housed {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    Layered::new(folder, store)
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
        let store = builder.readers(1).open().await.unwrap();
        Layered::new(folder, store)
    })
    .await;
}

#[tokio::test]
async fn in_memory_database_passes_the_store_suite() {
    conformance(async || SqliteStore::in_memory().await.unwrap()).await;
}

/// Two stores on one file, used alternately: nothing may be cached in memory. The layer holds the second one.
struct InTurns(Housed, AtomicUsize);

impl InTurns {
    fn next<'s>(&'s self, store: &'s dyn Store) -> &'s dyn Store {
        match self.1.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => &self.0,
            _ => store,
        }
    }
}

#[async_trait]
impl StoreLayer for InTurns {
    async fn apply(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.next(store).apply(conversation_id, batch).await
    }
    async fn load(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.next(store).load(conversation_id, query).await
    }
    async fn conversations(
        &self,
        store: &dyn Store,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.next(store).conversations(filter).await
    }
    async fn find_turns(
        &self,
        store: &dyn Store,
        filter: &TurnFilter,
    ) -> Result<Vec<FoundTurn>, StoreError> {
        self.next(store).find_turns(filter).await
    }
    async fn changed(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.next(store).changed(conversation_id, since).await
    }
}

#[tokio::test]
async fn two_stores_on_one_file_pass_the_store_suite() {
    conformance(async || {
        let one = on_disk().await;
        let other = SqliteStore::open(one.store.path().unwrap()).await.unwrap();
        Layered::new(InTurns(one, AtomicUsize::new(0)), other)
    })
    .await;
}

/// Retries failed calls. A batch whose reply was lost is applied again, which changes nothing.
struct Retry;

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
impl StoreLayer for Retry {
    async fn apply(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        retry!(store.apply(conversation_id, batch.clone()))
    }
    async fn load(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        retry!(store.load(conversation_id, query))
    }
    async fn conversations(
        &self,
        store: &dyn Store,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        retry!(store.conversations(filter))
    }
    async fn find_turns(
        &self,
        store: &dyn Store,
        filter: &TurnFilter,
    ) -> Result<Vec<FoundTurn>, StoreError> {
        retry!(store.find_turns(filter))
    }
    async fn changed(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        retry!(store.changed(conversation_id, since))
    }
}

#[tokio::test]
async fn store_suite_passes_with_failing_calls_and_retries() {
    for (nth, fail) in [(2, Fail::Before), (3, Fail::After), (2, Fail::After)] {
        conformance(async || {
            let store = FailingLayer::store(on_disk().await);
            store.layer.fail_each(nth, fail);
            Layered::new(Retry, store)
        })
        .await;
    }
}

#[tokio::test]
async fn applied_batch_is_visible_after_a_lost_reply() {
    for nth in [2, 3, 5] {
        let store = FailingLayer::store(on_disk().await);
        store.layer.fail_each(nth, Fail::After);
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
        store.layer.stop_failing();
        assert_eq!((answered, store.layer.applied()), (60 - 60 / nth, 60));
        let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
        assert_eq!((loaded.revision, loaded.records.len()), (Revision(60), 60));
        store.store.store.integrity_check().await.unwrap();
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
