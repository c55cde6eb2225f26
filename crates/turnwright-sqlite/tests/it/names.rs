//! Conversation ids: records are found by them, and nothing remains of a deleted id.

use std::fs;

use rusqlite::Connection;
use turnwright_core::record::{ConversationInfo, RecordKind};
use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, Query, Revision, Store as _, StoreExt,
};
use turnwright_sqlite::SqliteStore;

use crate::folder::Folder;
use crate::note;

const SECRET: &str = "ada@example.com about her divorce";

/// Returns `true` if any file of the folder contains the text.
fn is_found(folder: &Folder, text: &str) -> bool {
    let files = fs::read_dir(folder.path()).unwrap();
    let mut files = files.map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files.any(|bytes| {
        bytes
            .windows(text.len())
            .any(|entry| entry == text.as_bytes())
    })
}

#[tokio::test]
async fn deleted_conversation_keeps_counters_but_not_its_id() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let (conversation_id, other) = (ConversationId::new(SECRET), ConversationId::new("other"));
    store.put(&other, note("a", "stays")).await.unwrap();
    for n in 0..5 {
        store
            .put(&conversation_id, note(&n.to_string(), "x"))
            .await
            .unwrap();
    }
    store
        .apply(&conversation_id, Batch::new().fencing_token(4))
        .await
        .unwrap();
    assert!(is_found(&folder, SECRET));
    store.delete_conversation(&conversation_id).await.unwrap();
    assert!(!is_found(&folder, SECRET));
    store.integrity_check().await.unwrap();

    // Also in another process.
    store.close().await.unwrap();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
    assert_eq!((loaded.revision, loaded.records.len()), (Revision(7), 0));
    let late = store
        .apply(&conversation_id, Batch::new().fencing_token(3))
        .await;
    assert_eq!(late.unwrap_err().fenced_by(), Some(5));
    assert!(!is_found(&folder, SECRET));
    store.put(&conversation_id, note("new", "x")).await.unwrap();
    let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
    assert_eq!(loaded.revision, Revision(8));
    assert_eq!(loaded.records[0].position.0, 6);
    assert!(is_found(&folder, SECRET));
    let all = store
        .conversations(&ConversationFilter::all())
        .await
        .unwrap();
    let all: Vec<_> = all.into_iter().map(|found| found.id).collect();
    assert_eq!(all, [conversation_id, other]);
    store.integrity_check().await.unwrap();
}

#[tokio::test]
async fn nothing_is_left_of_the_info_of_a_deleted_conversation() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let chat = ConversationId::new("chat");
    let info = |info: ConversationInfo| {
        let info = info.title(SECRET).owner(SECRET).label(SECRET, SECRET);
        info.data(SECRET, SECRET)
    };
    let owned = ConversationFilter::all().owner(SECRET);
    let labelled = ConversationFilter::all().label(SECRET, SECRET);
    store.update_conversation_info(&chat, info).await.unwrap();
    for filter in [&owned, &labelled] {
        assert_eq!(store.conversations(filter).await.unwrap().len(), 1);
    }
    assert!(is_found(&folder, SECRET));
    store.delete_conversation(&chat).await.unwrap();
    assert!(!is_found(&folder, SECRET));
    for filter in [&owned, &labelled] {
        assert!(store.conversations(filter).await.unwrap().is_empty());
    }
    store.integrity_check().await.unwrap();
}

/// Through the convenience methods of any store.
#[tokio::test]
async fn conversation_without_records_has_no_id_in_the_file() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new(SECRET);
    let names = || {
        let conn = Connection::open(folder.file()).unwrap();
        let count = |sql| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        (
            count("SELECT count(*) FROM conversations"),
            count("SELECT count(*) FROM deleted_conversations"),
        )
    };
    store
        .apply(&conversation_id, Batch::new().fencing_token(1))
        .await
        .unwrap();
    assert_eq!(names(), (0, 1));
    store.put(&conversation_id, note("a", "x")).await.unwrap();
    store.put(&conversation_id, note("b", "x")).await.unwrap();
    assert_eq!(names(), (1, 0));
    store
        .delete(&conversation_id, RecordKind::Memory, "a")
        .await
        .unwrap();
    assert_eq!(names(), (1, 0));
    let deleted = StoreExt::delete_conversation(&store, &conversation_id).await;
    assert_eq!(deleted.unwrap(), Revision(5));
    assert_eq!(names(), (0, 1));
    // A record that is put and deleted by one batch never existed.
    let both = Batch::new()
        .put(note("c", "x"))
        .delete(RecordKind::Memory, "c");
    assert_eq!(
        store.apply(&conversation_id, both).await.unwrap(),
        Revision(6)
    );
    assert_eq!(names(), (0, 1));
    // A rejected batch does not restore the id.
    let refused = Batch::new().put(note("d", "x")).expect(Revision(1));
    store.apply(&conversation_id, refused).await.unwrap_err();
    assert_eq!(names(), (0, 1));
    store.put(&conversation_id, note("e", "x")).await.unwrap();
    let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
    assert_eq!(
        (loaded.revision, loaded.records[0].position.0),
        (Revision(7), 4)
    );
    store.integrity_check().await.unwrap();
}
