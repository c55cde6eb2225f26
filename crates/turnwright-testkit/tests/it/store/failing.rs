use turnwright_core::record::Memory;
use turnwright_core::store::{
    Batch, ConversationId, MemoryStore, Query, Store as _, StoreExt as _,
};
use turnwright_testkit::store::{Fail, FailingStore};

fn note(id: &str) -> Batch {
    Batch::new().put(Memory::new("x").id(id).build().unwrap())
}

#[tokio::test]
async fn every_nth_call_fails_before_or_after_its_effect() {
    for (fail, saved) in [(Fail::Before, 4), (Fail::After, 6)] {
        let inner = MemoryStore::default();
        let store = FailingStore::new(inner.clone());
        store.fail_each(3, fail);
        let conversation_id = ConversationId::new("s");
        let mut failed = Vec::new();
        for n in 1..=6 {
            if store
                .apply(&conversation_id, note(&n.to_string()))
                .await
                .is_err()
            {
                failed.push(n);
            }
        }
        assert_eq!(failed, [3, 6]);
        assert_eq!(
            (store.calls(), store.failed(), store.applied()),
            (6, 2, saved)
        );
        let there = inner.records(&conversation_id).await.unwrap();
        assert_eq!(there.len() as u64, saved);
    }
}

#[tokio::test]
async fn single_call_fails_for_every_operation() {
    let store = FailingStore::new(MemoryStore::default());
    let conversation_id = ConversationId::new("s");
    store.fail_call(2, Fail::Before);
    assert!(store.apply(&conversation_id, note("a")).await.is_ok());
    assert!(store.load(&conversation_id, &Query::all()).await.is_err());
    assert!(store.load(&conversation_id, &Query::all()).await.is_ok());
    store.fail_call(1, Fail::After);
    assert!(store.conversations(&Default::default()).await.is_err());
    store.fail_each(1, Fail::Before);
    assert!(store.conversations(&Default::default()).await.is_err());
    store.stop_failing();
    let listed = store.conversations(&Default::default()).await.unwrap();
    let listed: Vec<_> = listed.into_iter().map(|found| found.id).collect();
    assert_eq!(listed, [conversation_id]);
}

#[tokio::test]
async fn errors_of_the_store_are_passed_through() {
    let store = FailingStore::new(MemoryStore::default());
    store.fail_each(1, Fail::After);
    let batch = note("a").expect(turnwright_core::store::Revision(9));
    let error = store
        .apply(&ConversationId::new("s"), batch)
        .await
        .unwrap_err();
    assert!(error.found_revision().is_some());
}

#[tokio::test]
async fn paging_continues_after_a_failure() {
    let store = FailingStore::new(MemoryStore::default());
    let conversation_id = ConversationId::new("s");
    for n in 0..10 {
        store
            .apply(&conversation_id, note(&n.to_string()))
            .await
            .unwrap();
    }
    store.fail_each(2, Fail::After);
    let mut pages = store.pages(&conversation_id, Query::all().limit(3));
    let (mut found, mut failures) = (Vec::new(), 0);
    loop {
        match pages.next().await {
            Ok(Some(page)) => {
                found.extend(page.into_records().map(|record| record.id().to_owned()));
            }
            Ok(None) => break,
            Err(_) => failures += 1,
        }
    }
    let all: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    assert_eq!(found, all);
    assert!(failures > 0);
}
