//! The suite on stores that keep their word, and on stores that do not.

mod failing;
mod json;
mod lying;

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{ConversationId, MemoryStore, Store};
use turnwright_testkit::store::{Failing, conformance, damage_conformance};

use json::JsonStore;

#[tokio::test]
async fn the_store_in_memory_keeps_its_word() {
    let report = conformance(async || MemoryStore::default()).await;
    assert_eq!(report.to_string(), "the store keeps 52 of 52 promises");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_does_on_several_threads_too_and_behind_pointers() {
    conformance(async || Arc::new(MemoryStore::default()) as Arc<dyn Store>).await;
}

#[tokio::test]
async fn a_store_that_keeps_nothing_but_json_text_keeps_its_word() {
    conformance(async || JsonStore::default()).await;
}

#[tokio::test]
async fn a_store_of_json_text_lists_what_it_cannot_read_and_goes_on() {
    let damage =
        async |store: &JsonStore, conversation_id: &ConversationId, kind: RecordKind, id: &str| {
            store.damage(conversation_id, kind, id);
        };
    let report = damage_conformance(async || JsonStore::default(), damage).await;
    assert_eq!(report.passed.len(), RecordKind::ALL.len());
}

/// Nothing is damaged in it, which the suite must notice.
#[tokio::test]
#[should_panic(expected = "a damaged conversation_info stands alone")]
async fn a_store_that_shows_a_damaged_record_as_if_it_were_whole_is_found_out() {
    let nothing = async |_: &MemoryStore, _: &ConversationId, _: RecordKind, _: &str| {};
    damage_conformance(async || MemoryStore::default(), nothing).await;
}

#[tokio::test]
async fn a_store_around_another_keeps_its_word_while_it_does_not_fail() {
    conformance(async || Failing::store(JsonStore::default())).await;
}
