//! Batch ids and deletions in the file.

use rusqlite::Connection;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, Changes, ConversationId, MIN_DELETION_HISTORY, Query, Revision, Store as _,
    StoreExt as _,
};
use turnwright_sqlite::SqliteStore;

use crate::folder::Folder;
use crate::note;

fn count(folder: &Folder, sql: &str) -> i64 {
    let conn = Connection::open(folder.file()).unwrap();
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn batch_is_applied_once_across_a_process_crash() {
    let folder = Folder::new();
    let chat = ConversationId::new("chat");
    let batch = Batch::new()
        .put(note("a", "x"))
        .expect(Revision(0))
        .fencing_token(1);
    // Never closed, as if the process had died after the commit.
    let died = SqliteStore::open(folder.file()).await.unwrap();
    died.apply(&chat, batch.clone()).await.unwrap();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    store.put(&chat, note("a", "y")).await.unwrap();
    assert_eq!(store.apply(&chat, batch).await.unwrap(), Revision(1));
    assert_eq!(store.memories(&chat).await.unwrap()[0].text(), "y");
}

#[tokio::test]
async fn batch_ids_are_kept_for_an_hour() {
    let folder = Folder::new();
    let chat = ConversationId::new("chat");
    let store = SqliteStore::open(folder.file()).await.unwrap();
    for id in ["a", "b", "c"] {
        store.put(&chat, note(id, "x")).await.unwrap();
    }
    let age = |minutes: i64| {
        let conn = Connection::open(folder.file()).unwrap();
        let sql = "UPDATE batches SET applied_at = applied_at - ?1 * 60000";
        conn.execute(sql, [minutes]).unwrap();
    };
    age(59);
    let store = SqliteStore::open(folder.file()).await.unwrap();
    store.put(&chat, note("d", "x")).await.unwrap();
    assert_eq!(count(&folder, "SELECT count(*) FROM batches"), 4);
    age(2);
    let store = SqliteStore::open(folder.file()).await.unwrap();
    store.put(&chat, note("e", "x")).await.unwrap();
    assert_eq!(count(&folder, "SELECT count(*) FROM batches"), 2);
}

#[tokio::test]
async fn deletions_are_limited_and_deleted_with_the_conversation() {
    let folder = Folder::new();
    let chat = ConversationId::new("chat");
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let ids = || (0..MIN_DELETION_HISTORY + 10).map(|n| format!("n-{n}"));
    let records = ids().map(|id| note(&id, "x")).chain([note("stays", "x")]);
    store.put_all(&chat, records).await.unwrap();
    for id in ids() {
        store.delete(&chat, RecordKind::Memory, &id).await.unwrap();
    }
    let present = count(&folder, "SELECT count(*) FROM deletions");
    assert_eq!(present, i64::try_from(MIN_DELETION_HISTORY).unwrap());
    let since = store.changed(&chat, Revision(1)).await.unwrap();
    assert!(matches!(since, Changes::Unknown));

    store.delete_conversation(&chat).await.unwrap();
    assert_eq!(count(&folder, "SELECT count(*) FROM deletions"), 0);
    let revision = store.load(&chat, &Query::all()).await.unwrap().revision;
    let since = store
        .changed(&chat, Revision(revision.0 - 1))
        .await
        .unwrap();
    assert!(matches!(since, Changes::Unknown));
}

#[tokio::test]
async fn changes_that_are_no_longer_in_the_log_are_found_by_a_scan() {
    let folder = Folder::new();
    let chat = ConversationId::new("chat");
    let store = SqliteStore::open(folder.file()).await.unwrap();
    for (id, text) in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1")] {
        store.put(&chat, note(id, text)).await.unwrap();
    }
    let put_since = async |revision: u64| {
        let changes = store.changed(&chat, Revision(revision)).await.unwrap();
        let Changes::Since { put, deleted } = changes else {
            panic!("{changes:?}");
        };
        assert!(deleted.is_empty());
        let records = put.records.iter();
        let ids = records.map(|stored| stored.record.id().to_owned());
        ids.collect::<Vec<_>>()
    };
    let expected: [&[&str]; 5] = [&["a", "b", "c"], &["a", "b", "c"], &["a", "c"], &["c"], &[]];
    let conn = Connection::open(folder.file()).unwrap();
    for damage in [
        "UPDATE batches SET revision = revision",
        "UPDATE batches SET records = '[' WHERE revision = 2",
        "UPDATE batches SET records = NULL WHERE revision = 2",
        "DELETE FROM batches WHERE revision = 3",
        "DELETE FROM batches",
    ] {
        conn.execute(damage, []).unwrap();
        for (revision, ids) in (0..).zip(expected) {
            assert_eq!(put_since(revision).await, ids, "{damage}: since {revision}");
        }
    }
}
