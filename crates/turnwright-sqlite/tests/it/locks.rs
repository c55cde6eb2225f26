//! Waiting for locks, and what is not blocked meanwhile.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use rusqlite::Connection;
use turnwright_core::store::{Batch, ConversationId, Query, Revision, Store as _, StoreExt as _};
use turnwright_sqlite::{SqliteErrorKind, SqliteStore};

use crate::folder::Folder;
use crate::{kind, note};

/// A connection that holds the write lock.
struct Holder(Connection);

impl Holder {
    fn of(folder: &Folder) -> Self {
        let conn = Connection::open(folder.file()).unwrap();
        conn.execute_batch("BEGIN IMMEDIATE").unwrap();
        Holder(conn)
    }

    fn release(&self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

#[tokio::test(flavor = "current_thread")]
async fn write_that_waits_for_a_lock_blocks_no_reads() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    store.put(&conversation_id, note("a", "x")).await.unwrap();
    let holder = Holder::of(&folder);

    let (writer, at) = (store.clone(), conversation_id.clone());
    let write = tokio::spawn(async move { writer.put(&at, note("b", "x")).await });
    // On the single thread of this runtime, tasks continue and reads succeed.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    for _ in 0..20 {
        assert_eq!(store.records(&conversation_id).await.unwrap().len(), 1);
    }
    assert!(!write.is_finished());
    holder.release();
    assert_eq!(write.await.unwrap().unwrap(), Revision(2));
}

/// Polls a write once, so that it is queued, and drops it.
async fn hand_in_and_drop(store: &SqliteStore, conversation_id: &ConversationId, batch: Batch) {
    let mut write = Box::pin(store.apply(conversation_id, batch));
    poll_fn(|cx| {
        assert!(write.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[tokio::test(flavor = "current_thread")]
async fn abandoned_write_is_applied_completely() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    let holder = Holder::of(&folder);
    for n in 0..10 {
        let batch = Batch::new()
            .put(note(&format!("{n}-a"), "x"))
            .put(note(&format!("{n}-b"), "x"));
        hand_in_and_drop(&store, &conversation_id, batch).await;
    }
    // A future that was never polled has queued nothing.
    drop(store.apply(&conversation_id, Batch::new().put(note("never", "x"))));
    holder.release();
    // Runs after the queued ones.
    assert_eq!(
        store
            .put(&conversation_id, note("last", "x"))
            .await
            .unwrap(),
        Revision(11)
    );
    assert_eq!(store.records(&conversation_id).await.unwrap().len(), 21);

    // Also if the store is closed afterwards.
    let holder = Holder::of(&folder);
    hand_in_and_drop(
        &store,
        &conversation_id,
        Batch::new().put(note("later", "x")),
    )
    .await;
    holder.release();
    store.close().await.unwrap();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
    assert_eq!((loaded.revision, loaded.records.len()), (Revision(12), 22));
}

#[tokio::test]
async fn lock_timeout_is_reported_and_nothing_is_written() {
    let folder = Folder::new();
    let builder = SqliteStore::builder(folder.file()).busy_timeout(Duration::from_millis(20));
    let store = builder.open().await.unwrap();
    let conversation_id = ConversationId::new("chat");
    let holder = Holder::of(&folder);
    let (one, other) = tokio::join!(
        store.put(&conversation_id, note("a", "x")),
        store.put(&conversation_id, note("b", "x"))
    );
    assert_eq!(kind(&one.unwrap_err()), SqliteErrorKind::Locked);
    assert_eq!(kind(&other.unwrap_err()), SqliteErrorKind::Locked);
    holder.release();
    assert_eq!(
        store.put(&conversation_id, note("c", "x")).await.unwrap(),
        Revision(1)
    );
    assert_eq!(store.records(&conversation_id).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn queued_batches_keep_their_results_and_order() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let (conversation_id, elsewhere) = (ConversationId::new("chat"), ConversationId::new("other"));
    let put = |id: &str| Batch::new().put(note(id, "x"));
    let holder = Holder::of(&folder);
    // The first is started alone and waits for the lock; the others queue up behind it.
    let (handle, at) = (store.clone(), conversation_id.clone());
    let first = tokio::spawn(async move { handle.put(&at, note("first", "x")).await });
    tokio::task::yield_now().await;
    let answers = async {
        tokio::join!(
            store.apply(
                &conversation_id,
                put("a").expect(Revision(1)).fencing_token(5)
            ),
            store.apply(&conversation_id, put("b").expect(Revision(1))),
            store.apply(&conversation_id, put("c").fencing_token(4)),
            store.apply(&conversation_id, put("d").put(note("a", "again"))),
            store.apply(&elsewhere, put("e").expect(Revision(0))),
        )
    };
    let release = async {
        tokio::task::yield_now().await;
        holder.release();
    };
    let ((a, b, c, d, e), ()) = tokio::join!(answers, release);
    assert_eq!(first.await.unwrap().unwrap(), Revision(1));
    assert_eq!(a.unwrap(), Revision(2));
    assert_eq!(b.unwrap_err().found_revision(), Some(Revision(2)));
    assert_eq!(c.unwrap_err().fenced_by(), Some(5));
    assert_eq!((d.unwrap(), e.unwrap()), (Revision(3), Revision(1)));
    let ids: Vec<String> = store
        .records(&conversation_id)
        .await
        .unwrap()
        .iter()
        .map(|entry| entry.id().to_owned())
        .collect();
    assert_eq!(ids, ["first", "a", "d"]);
}
