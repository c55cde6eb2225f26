use std::sync::mpsc;

use turnwright_core::record::{Memory, Record, RecordKind};
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::StoreExt as _;

use super::*;

fn note(id: &str, text: &str) -> Record {
    Memory::new(text).id(id).build().unwrap().into()
}

fn line(state: &str) -> Record {
    let value = serde_json::json!({
        "v": 1, "kind": "ledger", "id": state, "turnId": "t", "toolCall": "c", "checksum": "c", "tool": "pay",
        "fingerprint": "f", "args": "{}", "state": state, "startedAt": "2026-01-01T00:00:00Z",
        "endedAt": if state == "started" { serde_json::Value::Null } else { "2026-01-01T00:00:01Z".into() },
    });
    let nothing = ByteResolver::new(Arc::new(MemorySpool::default()));
    let mut value = value;
    value
        .as_object_mut()
        .unwrap()
        .retain(|_, entry| !entry.is_null());
    Record::from_value(RecordKind::Ledger, &value, &nothing).unwrap()
}

fn conversation_id() -> ConversationId {
    ConversationId::new("chat")
}

/// Returns SQLite's synchronous level: 1 flushes to the operating system, 2 to the disk.
async fn level(store: &SqliteStore) -> i64 {
    let level = store.0.writer.run(|writer| {
        let level = writer
            .conn
            .pragma_query_value(None, "synchronous", |row| row.get(0));
        Ok(level?)
    });
    level.await.unwrap()
}

/// Blocks the writer until it is released, so that batches queue up.
fn hold(store: &SqliteStore) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let (release, blocked) = mpsc::channel();
    let writer = store.0.writer.clone();
    let task = tokio::spawn(async move {
        let waited = writer.run(move |_| {
            blocked.recv().unwrap();
            Ok(())
        });
        waited.await.unwrap();
    });
    (release, task)
}

#[tokio::test]
async fn only_batches_that_begin_a_call_are_flushed_by_default() {
    let store = SqliteStore::in_memory().await.unwrap();
    let mut levels = Vec::new();
    for record in [
        note("a", "x"),
        line("started"),
        line("done"),
        note("b", "x"),
        line("started"),
    ] {
        store.put(&conversation_id(), record).await.unwrap();
        levels.push(level(&store).await);
    }
    assert_eq!(levels, [1, 2, 1, 1, 2]);

    let always = SqliteStoreBuilder::new(None).durability(Durability::Always);
    let store = always.open().await.unwrap();
    store.put(&conversation_id(), note("a", "x")).await.unwrap();
    assert_eq!(level(&store).await, 2);
}

#[tokio::test]
async fn batch_that_begins_a_call_flushes_its_group() {
    let store = SqliteStore::in_memory().await.unwrap();
    let (release, blocked) = hold(&store);
    tokio::task::yield_now().await;
    let (conversation_id, other) = (conversation_id(), ConversationId::new("other"));
    let release = async {
        tokio::task::yield_now().await;
        release.send(()).unwrap();
    };
    let (a, b, ()) = tokio::join!(
        store.put(&conversation_id, note("a", "x")),
        store.put(&other, line("started")),
        release
    );
    blocked.await.unwrap();
    assert_eq!((a.unwrap(), b.unwrap()), (Revision(1), Revision(1)));
    assert_eq!(level(&store).await, 2);
}

#[tokio::test]
async fn panic_or_error_leaves_no_open_transaction() {
    let store = SqliteStore::in_memory().await.unwrap();
    store.put(&conversation_id(), note("a", "x")).await.unwrap();
    let half = |writer: &mut Writer| {
        writer.begin(false)?;
        writer.conn.execute("DELETE FROM records", [])?;
        Ok::<(), Failure>(())
    };
    let panicked = store.0.writer.run(move |writer| -> Result<(), Failure> {
        half(writer)?;
        panic!("on purpose");
    });
    assert!(panicked.await.is_err());
    let failed = store.0.writer.run(move |writer| {
        half(writer)?;
        Err::<(), _>(SqliteErrorKind::Other.into())
    });
    assert!(failed.await.is_err());
    // Not even if the work forgets to commit.
    store.0.writer.run(half).await.unwrap();
    assert_eq!(store.records(&conversation_id()).await.unwrap().len(), 1);
    assert_eq!(
        store.put(&conversation_id(), note("b", "x")).await.unwrap(),
        Revision(2)
    );
}

/// One batch of a group breaks the transaction of all: the others are then committed separately.
#[tokio::test]
async fn failing_batch_does_not_fail_its_group() {
    let bounded = SqliteStoreBuilder::new(None).max_file_bytes(256 * 1024);
    let store = bounded.open().await.unwrap();
    let (release, blocked) = hold(&store);
    tokio::task::yield_now().await;
    let conversation_ids = ["a", "b", "c", "d"].map(ConversationId::new);
    let large = "x".repeat(1 << 20);
    let release = async {
        tokio::task::yield_now().await;
        release.send(()).unwrap();
    };
    let (a, b, c, d, ()) = tokio::join!(
        store.put(&conversation_ids[0], note("a", "x")),
        store.put(&conversation_ids[1], note("b", &large)),
        store.apply(
            &conversation_ids[2],
            Batch::new().put(note("c", "x")).expect(Revision(7))
        ),
        store.put(&conversation_ids[3], note("d", "x")),
        release
    );
    blocked.await.unwrap();
    let full = b.unwrap_err();
    assert_eq!(
        SqliteError::of(&full).unwrap().kind(),
        SqliteErrorKind::Full
    );
    assert_eq!(c.unwrap_err().found_revision(), Some(Revision(0)));
    assert_eq!((a.unwrap(), d.unwrap()), (Revision(1), Revision(1)));
    let stored = store
        .conversations(&ConversationFilter::all())
        .await
        .unwrap();
    let stored: Vec<_> = stored.into_iter().map(|found| found.id).collect();
    assert_eq!(stored, ["a", "d"].map(ConversationId::new));
    let loaded = store
        .load(&conversation_ids[1], &Query::all())
        .await
        .unwrap();
    assert_eq!(loaded.revision, Revision(0));
}

#[tokio::test]
async fn debug_shows_the_path_and_no_content() {
    let store = SqliteStore::in_memory().await.unwrap();
    store
        .put(&conversation_id(), note("a", "a secret"))
        .await
        .unwrap();
    let text = format!("{store:?}");
    assert_eq!(text, "SqliteStore { path: None, results: None, .. }");
    assert!(store.path().is_none());
}

/// Retention selects first and deletes later.
#[tokio::test]
async fn conversation_written_after_selection_is_kept() {
    let store = SqliteStore::in_memory().await.unwrap();
    let Revision(chosen) = store.put(&conversation_id(), note("a", "x")).await.unwrap();
    store
        .put(&conversation_id(), line("started"))
        .await
        .unwrap();
    let erased = store.erase(&conversation_id(), Some(chosen)).await.unwrap();
    assert!(erased.is_none());
    assert_eq!(store.records(&conversation_id()).await.unwrap().len(), 2);
    let erased = store
        .erase(&conversation_id(), Some(chosen + 1))
        .await
        .unwrap();
    assert_eq!(erased.unwrap().records, 2);
}
