//! The store suite, with correct and incorrect stores.

mod broken_stores;
mod failing;
mod json;

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{ConversationId, MemoryStore, Store};
use turnwright_testkit::store::{FailingStore, conformance, damage_conformance};

use json::JsonStore;

#[tokio::test]
async fn memory_store_passes() {
    let report = conformance(async || MemoryStore::default()).await;
    assert_eq!(report.to_string(), "the store meets 52 of 52 requirements");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_store_passes_on_several_threads_and_behind_pointers() {
    conformance(async || Arc::new(MemoryStore::default()) as Arc<dyn Store>).await;
}

#[tokio::test]
async fn json_store_passes() {
    conformance(async || JsonStore::default()).await;
}

#[tokio::test]
async fn json_store_passes_the_damage_checks() {
    let damage =
        async |store: &JsonStore, conversation_id: &ConversationId, kind: RecordKind, id: &str| {
            store.damage(conversation_id, kind, id);
        };
    let report = damage_conformance(async || JsonStore::default(), damage).await;
    assert_eq!(report.passed.len(), RecordKind::ALL.len());
}

/// Nothing is damaged in it, which the suite must notice.
#[tokio::test]
#[should_panic(expected = "a damaged conversation_info does not affect other records")]
async fn store_that_hides_damage_fails() {
    let nothing = async |_: &MemoryStore, _: &ConversationId, _: RecordKind, _: &str| {};
    damage_conformance(async || MemoryStore::default(), nothing).await;
}

#[tokio::test]
async fn failing_store_passes_while_it_does_not_fail() {
    conformance(async || FailingStore::new(JsonStore::default())).await;
}
