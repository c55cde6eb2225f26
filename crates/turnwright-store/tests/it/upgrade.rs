//! A file of the first format, made by hand as the first release made it.

use rusqlite::{Connection, params};
use turnwright_core::store::{Query, Revision, Scope, Store as _, StoreExt as _};
use turnwright_store::sqlite::{Retention, SqliteStore, Trouble};

use crate::folder::Folder;
use crate::{line, note, trouble};

fn first_format(folder: &Folder) {
    let conn = Connection::open(folder.file()).unwrap();
    conn.execute_batch(include_str!("../../src/sqlite/format/1.sql"))
        .unwrap();
    conn.pragma_update(None, "application_id", 0x5457_5354)
        .unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    for (row, name) in [(1, "quiet"), (2, "busy"), (3, "emptied")] {
        conn.execute(
            "INSERT INTO scopes VALUES (?1, ?2, 3, 7, 2, 0)",
            params![row, name],
        )
        .unwrap();
    }
    let records = [
        (1, 1, note("a", "kept")),
        (1, 2, line("k", "done")),
        (2, 1, note("a", "kept")),
        (2, 2, line("k", "begun")),
    ];
    for (scope, place, record) in records {
        let body = record.to_value().unwrap().to_string();
        let values = params![
            scope,
            place,
            record.kind().as_str(),
            record.id(),
            body.len(),
            crc32fast::hash(body.as_bytes()),
            body
        ];
        conn.execute(
            "INSERT INTO records (scope, position, kind, id, written_at, bytes, checksum, body)
             VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7)",
            values,
        )
        .unwrap();
    }
}

#[tokio::test]
async fn an_earlier_format_is_upgraded_with_all_that_is_in_it() {
    let folder = Folder::new();
    first_format(&folder);

    // For reading only it stays what it is.
    let error = SqliteStore::builder(folder.file())
        .read_only()
        .open()
        .await
        .unwrap_err();
    assert_eq!(trouble(&error), Trouble::OlderFormat { found: 1 });

    let store = SqliteStore::open(folder.file()).await.unwrap();
    store.integrity_check().await.unwrap();
    let (quiet, busy) = (Scope::new("quiet"), Scope::new("busy"));
    let loaded = store.load(&quiet, &Query::all()).await.unwrap();
    assert_eq!((loaded.revision, loaded.records.len()), (Revision(3), 2));
    assert_eq!(
        store.put(&quiet, note("b", "new")).await.unwrap(),
        Revision(4)
    );
    let late = turnwright_core::store::Batch::new().fence(6);
    assert_eq!(
        store.apply(&quiet, late).await.unwrap_err().fenced_by(),
        Some(7)
    );

    // Nor is a name kept that an earlier release kept; its numbers are.
    let conn = Connection::open(folder.file()).unwrap();
    let kept: i64 = conn
        .query_row(
            "SELECT count(*) FROM scopes WHERE name = 'emptied'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let emptied = store.load(&Scope::new("emptied"), &Query::all()).await;
    assert_eq!((kept, emptied.unwrap().revision), (0, Revision(3)));

    // What the new format knows is true of the old records.
    let report = store
        .apply_retention(&Retention::default().max_bytes(0))
        .await
        .unwrap();
    assert_eq!(
        (report.conversations, report.unfinished),
        (vec![quiet], vec![busy])
    );
    store.close().await.unwrap();
    let conn = Connection::open(folder.file()).unwrap();
    let format: i64 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(format, 4);
}

#[tokio::test]
async fn stores_that_open_an_earlier_format_at_once_upgrade_it_once() {
    let folder = Folder::new();
    first_format(&folder);
    let file = folder.file();
    let (a, b, c) = tokio::join!(
        SqliteStore::open(&file),
        SqliteStore::open(&file),
        SqliteStore::open(&file)
    );
    for store in [a, b, c] {
        let store = store.unwrap();
        assert_eq!(store.records(&Scope::new("busy")).await.unwrap().len(), 2);
    }
}
