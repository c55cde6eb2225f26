//! Names of conversations: where records are found, and that nothing is left of a name that is gone.

use std::fs;

use rusqlite::Connection;
use turnwright_core::record::{Memory, Message, RecordKind};
use turnwright_core::store::{
    Batch, Query, Revision, Scope, ScopeFilter, Store as _, StoreExt as _,
};
use turnwright_store::sqlite::SqliteStore;

use crate::folder::Folder;
use crate::note;

const SECRET: &str = "ada@example.com about her divorce";

/// Whether any file of the folder holds the text.
fn is_found(folder: &Folder, text: &str) -> bool {
    let files = fs::read_dir(folder.path()).unwrap();
    let mut files = files.map(|it| fs::read(it.unwrap().path()).unwrap());
    files.any(|bytes| bytes.windows(text.len()).any(|it| it == text.as_bytes()))
}

#[tokio::test]
async fn nothing_is_left_of_the_name_of_a_deleted_conversation_but_its_numbers_are() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let (scope, other) = (Scope::new(SECRET), Scope::new("other"));
    store.put(&other, note("a", "stays")).await.unwrap();
    for n in 0..5 {
        store.put(&scope, note(&n.to_string(), "x")).await.unwrap();
    }
    store.apply(&scope, Batch::new().fence(4)).await.unwrap();
    assert!(is_found(&folder, SECRET));
    store.delete_conversation(&scope).await.unwrap();
    assert!(!is_found(&folder, SECRET));
    store.integrity_check().await.unwrap();

    // Also in another process.
    store.close().await.unwrap();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let loaded = store.load(&scope, &Query::all()).await.unwrap();
    assert_eq!((loaded.revision, loaded.records.len()), (Revision(7), 0));
    let late = store.apply(&scope, Batch::new().fence(3)).await;
    assert_eq!(late.unwrap_err().fenced_by(), Some(5));
    assert!(!is_found(&folder, SECRET));
    store.put(&scope, note("new", "x")).await.unwrap();
    let loaded = store.load(&scope, &Query::all()).await.unwrap();
    assert_eq!(loaded.revision, Revision(8));
    assert_eq!(loaded.records[0].position.0, 6);
    assert!(is_found(&folder, SECRET));
    let all = store.scopes(&ScopeFilter::all()).await.unwrap();
    assert_eq!(all, [scope, other]);
    store.integrity_check().await.unwrap();
}

/// The comfortable way of every store, which knows nothing of names.
#[tokio::test]
async fn a_scope_has_no_name_while_it_holds_no_record() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let scope = Scope::new(SECRET);
    let names = || {
        let conn = Connection::open(folder.file()).unwrap();
        let count = |sql| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        (
            count("SELECT count(*) FROM scopes"),
            count("SELECT count(*) FROM forgotten"),
        )
    };
    store.apply(&scope, Batch::new().fence(1)).await.unwrap();
    assert_eq!(names(), (0, 1));
    store.put(&scope, note("a", "x")).await.unwrap();
    store.put(&scope, note("b", "x")).await.unwrap();
    assert_eq!(names(), (1, 0));
    store.delete(&scope, RecordKind::Memory, "a").await.unwrap();
    assert_eq!(names(), (1, 0));
    assert_eq!(store.delete_scope(&scope).await.unwrap(), Revision(5));
    assert_eq!(names(), (0, 1));
    // What is put and taken away by one batch was never there.
    let both = Batch::new()
        .put(note("c", "x"))
        .delete(RecordKind::Memory, "c");
    assert_eq!(store.apply(&scope, both).await.unwrap(), Revision(6));
    assert_eq!(names(), (0, 1));
    // A batch that is refused brings no name back.
    let refused = Batch::new().put(note("d", "x")).expect(Revision(1));
    store.apply(&scope, refused).await.unwrap_err();
    assert_eq!(names(), (0, 1));
    store.put(&scope, note("e", "x")).await.unwrap();
    let loaded = store.load(&scope, &Query::all()).await.unwrap();
    assert_eq!(
        (loaded.revision, loaded.records[0].position.0),
        (Revision(7), 4)
    );
    store.integrity_check().await.unwrap();
}

#[tokio::test]
async fn a_record_is_found_in_all_scopes_that_hold_it() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let scopes = ["b", "a", "ä", "a/2"].map(Scope::new);
    for scope in &scopes {
        store.put(scope, note("same", "x")).await.unwrap();
    }
    let said = Message::user("x").id("same").build().unwrap();
    store.put(&Scope::new("c"), said).await.unwrap();
    let own = Memory::new("x").id("own").build().unwrap();
    store.put(&scopes[0], own).await.unwrap();
    let found = async |kind, id| store.holding(kind, id).await.unwrap();
    let in_order = ["a", "a/2", "b", "ä"].map(Scope::new);
    assert_eq!(found(RecordKind::Memory, "same").await, in_order);
    assert_eq!(found(RecordKind::Message, "same").await, [Scope::new("c")]);
    assert_eq!(found(RecordKind::Memory, "own").await, [Scope::new("b")]);
    assert!(found(RecordKind::Thought, "same").await.is_empty());
    assert!(found(RecordKind::Memory, "a%").await.is_empty());

    store
        .delete(&scopes[0], RecordKind::Memory, "same")
        .await
        .unwrap();
    store.delete_conversation(&scopes[2]).await.unwrap();
    let left = ["a", "a/2"].map(Scope::new);
    assert_eq!(found(RecordKind::Memory, "same").await, left);
    let memory = SqliteStore::in_memory().await.unwrap();
    memory.put(&scopes[1], note("same", "x")).await.unwrap();
    let found = memory.holding(RecordKind::Memory, "same").await.unwrap();
    assert_eq!(found, [Scope::new("a")]);
}
