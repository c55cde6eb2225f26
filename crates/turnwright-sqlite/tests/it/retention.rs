//! Retention limits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use turnwright_core::record::CallState;
use turnwright_core::spool::{DiskSpool, MemorySpool};
use turnwright_core::store::{ConversationFilter, ConversationId, Store as _, StoreExt as _};
use turnwright_core::{BoxError, DispatchContext, ErrorCode, TurnInput};
use turnwright_sqlite::{Retention, SqliteStore};
use turnwright_testkit::store::storage_of;

use crate::deletion::{call, sorted, with_spool};
use crate::folder::Folder;
use crate::{line, note};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes a conversation look as if it was last written this many days ago.
fn age(store: &SqliteStore, conversation_id: &str, days: i64) {
    let conn = rusqlite::Connection::open(store.path().unwrap()).unwrap();
    let sql = "UPDATE conversations SET written_at = written_at - ?2 * 86400000 WHERE conversation_id = ?1";
    assert_eq!(
        conn.execute(sql, rusqlite::params![conversation_id, days])
            .unwrap(),
        1
    );
}

async fn left(store: &SqliteStore) -> Vec<String> {
    let conversation_ids = store
        .conversations(&ConversationFilter::all())
        .await
        .unwrap();
    conversation_ids
        .iter()
        .map(|found| found.id.as_str().to_owned())
        .collect()
}

/// Creates four conversations of 1, 2, 3 and 4 days, each with a result of a thousand bytes.
async fn four(folder: &Folder, spool: &MemorySpool) -> SqliteStore {
    let store = with_spool(folder, Arc::new(spool.clone())).await;
    for (days, name) in [(4, "a"), (3, "b"), (2, "c"), (1, "d")] {
        let result = call(spool, "c", name, &"x".repeat(1000)).await;
        store
            .put_all(&ConversationId::new(name), [note("n", name), result])
            .await
            .unwrap();
        age(&store, name, days);
    }
    store
}

#[tokio::test]
async fn old_conversations_are_deleted_with_their_bytes() {
    let (folder, spool) = (Folder::new(), MemorySpool::default());
    let store = four(&folder, &spool).await;
    let nothing = store.apply_retention(&Retention::default()).await.unwrap();
    assert!(nothing.conversations.is_empty() && nothing.bytes_left > 4_000);
    let report = store
        .apply_retention(&Retention::default().max_age(DAY * 5 / 2))
        .await
        .unwrap();
    assert_eq!(report.conversations, ["a", "b"].map(ConversationId::new));
    assert_eq!((report.deleted.records, report.deleted.spooled), (4, 2));
    assert_eq!(left(&store).await, ["c", "d"]);
    assert_eq!(sorted(&spool).await, ["c", "d"]);
    store.integrity_check().await.unwrap();
}

#[tokio::test]
async fn size_limit_deletes_the_oldest_first_and_only_as_needed() {
    let (folder, spool) = (Folder::new(), MemorySpool::default());
    let store = four(&folder, &spool).await;
    let all = store
        .apply_retention(&Retention::default())
        .await
        .unwrap()
        .bytes_left;
    let report = store
        .apply_retention(&Retention::default().max_bytes(all))
        .await
        .unwrap();
    assert!(report.conversations.is_empty());
    let report = store
        .apply_retention(&Retention::default().max_bytes(all - 1))
        .await
        .unwrap();
    assert_eq!(report.conversations, [ConversationId::new("a")]);
    assert_eq!(report.bytes_left, all - report.deleted.bytes);
    // The texts of one conversation are some hundred bytes, its result is a thousand.
    let report = store
        .apply_retention(&Retention::default().max_bytes(all / 2))
        .await
        .unwrap();
    assert_eq!(report.conversations, [ConversationId::new("b")]);
    let again = store.apply_retention(&Retention::default()).await.unwrap();
    assert_eq!(again.bytes_left, report.bytes_left);
    assert_eq!(sorted(&spool).await, ["c", "d"]);
}

#[tokio::test]
async fn shared_bytes_are_counted_once_and_kept_for_the_other_conversation() {
    let (folder, spool) = (Folder::new(), MemorySpool::default());
    let store = with_spool(&folder, Arc::new(spool.clone())).await;
    let result = call(&spool, "c", "shared", &"x".repeat(1000)).await;
    for (days, name) in [(2, "a"), (1, "b")] {
        store
            .put(&ConversationId::new(name), result.clone())
            .await
            .unwrap();
        age(&store, name, days);
    }
    let all = store
        .apply_retention(&Retention::default())
        .await
        .unwrap()
        .bytes_left;
    assert!(
        (1_000..2_000).contains(&(all - 2 * (all - 1_000) / 2)),
        "{all}"
    );
    let report = store
        .apply_retention(&Retention::default().max_age(DAY * 3 / 2))
        .await
        .unwrap();
    assert_eq!((report.conversations.len(), report.deleted.spooled), (1, 0));
    assert_eq!(sorted(&spool).await, ["shared"]);
    let report = store
        .apply_retention(&Retention::default().max_bytes(0))
        .await
        .unwrap();
    assert_eq!((report.deleted.spooled, report.bytes_left), (1, 0));
}

#[tokio::test]
async fn conversation_with_unfinished_call_is_kept() {
    let (folder, spool) = (Folder::new(), MemorySpool::default());
    let store = four(&folder, &spool).await;
    let open = ConversationId::new("a");
    store.put(&open, line("k", "started")).await.unwrap();
    age(&store, "a", 9);
    let strict = Retention::default().max_age(DAY * 5 / 2);
    let report = store.apply_retention(&strict).await.unwrap();
    assert_eq!(
        (report.conversations, report.unfinished),
        (vec![ConversationId::new("b")], vec![open.clone()])
    );

    let ended = store.unfinished(&open).await.unwrap()[0].ended(CallState::Unknown);
    store.put(&open, ended).await.unwrap();
    // It was written since, so it is young.
    assert!(
        store
            .apply_retention(&strict)
            .await
            .unwrap()
            .conversations
            .is_empty()
    );
    age(&store, "a", 9);
    assert_eq!(
        store.apply_retention(&strict).await.unwrap().conversations,
        [open]
    );
}

#[tokio::test]
async fn emptied_conversation_is_not_counted() {
    let (folder, spool) = (Folder::new(), MemorySpool::default());
    let store = four(&folder, &spool).await;
    store
        .delete_conversation(&ConversationId::new("a"))
        .await
        .unwrap();
    let report = store
        .apply_retention(&Retention::default().max_bytes(0))
        .await
        .unwrap();
    assert_eq!(
        report.conversations,
        ["b", "c", "d"].map(ConversationId::new)
    );
}

#[tokio::test]
async fn running_conversation_is_skipped_and_explicit_deletion_is_final() {
    let folder = Folder::new();
    let spool = DiskSpool::at(folder.path().join("results"));
    let store = with_spool(&folder, Arc::new(spool)).await;
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let model = {
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        move |ctx: DispatchContext| {
            let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
            async move {
                reached.notify_one();
                go.notified().await;
                ctx.answer("too late").await?;
                Ok::<_, BoxError>(())
            }
        }
    };
    let runner = turnwright_core::runner(model).storage(storage_of(store.clone()));
    let turn = runner.build().unwrap();
    let turn = turn.start(TurnInput::new("go").conversation("a"));
    reached.notified().await;
    let tight = Retention::default().max_bytes(0);
    let report = store.apply_retention(&tight).await.unwrap();
    assert_eq!(report.unfinished, [ConversationId::new("a")]);
    assert_eq!(left(&store).await, ["a"]);
    // An explicit deletion is not prevented.
    store
        .delete_conversation(&ConversationId::new("a"))
        .await
        .unwrap();
    go.notify_one();
    let error = turn.await.error().unwrap();
    assert_eq!(error.code(), ErrorCode::TURN_TAKEN_OVER);
    assert_eq!(left(&store).await, Vec::<String>::new());
}
