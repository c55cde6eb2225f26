//! Damaged files.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    ConversationId, Position, Query, Store as _, StoreError, StoreExt as _,
};
use turnwright_sqlite::{SqliteErrorKind, SqliteStore};

use crate::folder::Folder;
use crate::{kind, note};

const RECORDS: usize = 400;

async fn filled(file: &Path) -> Vec<Value> {
    let store = SqliteStore::open(file).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    let records = (0..RECORDS).map(|n| {
        note(
            &format!("id-{n}"),
            &format!("needle {n:04} {}", "x".repeat(150)),
        )
    });
    store.put_all(&conversation_id, records).await.unwrap();
    let written = values(&store).await.unwrap();
    store.close().await.unwrap();
    written
}

async fn values(store: &SqliteStore) -> Result<Vec<Value>, StoreError> {
    let records = store.records(&ConversationId::new("chat")).await?;
    Ok(records
        .iter()
        .map(|entry| entry.to_value().unwrap())
        .collect())
}

#[tokio::test]
async fn overwritten_pages_are_reported_and_nothing_is_written() {
    let folder = Folder::new();
    filled(&folder.file()).await;
    let mut bytes = fs::read(folder.file()).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0xa5);
    fs::write(folder.file(), &bytes).unwrap();

    let store = SqliteStore::open(folder.file()).await.unwrap();
    assert_eq!(
        kind(&values(&store).await.unwrap_err()),
        SqliteErrorKind::Corrupt
    );
    assert_eq!(
        kind(&store.integrity_check().await.unwrap_err()),
        SqliteErrorKind::Corrupt
    );
    let error = store
        .delete_conversation(&ConversationId::new("chat"))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::Corrupt);
    store.close().await.unwrap();
    assert!(
        fs::read(folder.file()).unwrap() == bytes,
        "the file was changed"
    );
}

#[tokio::test]
async fn changed_text_on_disk_is_a_damaged_record() {
    let folder = Folder::new();
    filled(&folder.file()).await;
    let mut bytes = fs::read(folder.file()).unwrap();
    let needle = b"needle 0200";
    let at = bytes
        .windows(needle.len())
        .position(|entry| entry == needle)
        .unwrap();
    bytes[at] = b'N';
    fs::write(folder.file(), &bytes).unwrap();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let error = values(&store).await.unwrap_err();
    assert_eq!(error.damaged_record().unwrap().id, "id-200");
    assert!(error.to_string().contains("position 201"), "{error}");
    let loaded = store
        .load(&ConversationId::new("chat"), &Query::all())
        .await
        .unwrap();
    assert_eq!(
        (loaded.records.len(), loaded.damaged.len()),
        (RECORDS - 1, 1)
    );
    let error = store.integrity_check().await.unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::Corrupt);
    assert!(error.to_string().contains("id-200"), "{error}");
}

/// Statements that make a record unreadable, and the expected message. The checksum matches in all but the first two.
const DAMAGES: [(&str, &str); 7] = [
    (
        "UPDATE records SET body = replace(body, 'kept', 'lost') WHERE id = 'b'",
        "not what was written",
    ),
    (
        "UPDATE records SET checksum = -1 WHERE id = 'b'",
        "not what was written",
    ),
    ("UPDATE records SET body = '{'", "not JSON text"),
    (
        "UPDATE records SET body = replace(body, '\"v\":1', '\"v\":9')",
        "written by a later release",
    ),
    (
        "UPDATE records SET body = replace(body, '\"text\"', '\"test\"')",
        "text: is missing",
    ),
    (
        "UPDATE records SET body = replace(body, '\"id\":\"b\"', '\"id\":\"c\"')",
        "another record",
    ),
    ("UPDATE records SET kind = 'poem'", "its kind"),
];

#[tokio::test]
async fn damaged_record_does_not_affect_its_conversation() {
    for (number, (damage, reason)) in DAMAGES.into_iter().enumerate() {
        let folder = Folder::new();
        let conversation_id = ConversationId::new("chat");
        let store = SqliteStore::open(folder.file()).await.unwrap();
        let records = ["a", "b", "c"].map(|id| note(id, "kept"));
        store.put_all(&conversation_id, records).await.unwrap();
        let conn = Connection::open(folder.file()).unwrap();
        if number < 2 {
            conn.execute(damage, []).unwrap();
        } else {
            conn.execute(&format!("{damage} WHERE id = 'b'"), [])
                .unwrap();
            let text: String = conn
                .query_row("SELECT body FROM records WHERE id = 'b'", [], |row| {
                    row.get(0)
                })
                .unwrap();
            let fits = crc32fast::hash(text.as_bytes());
            conn.execute("UPDATE records SET checksum = ?1 WHERE id = 'b'", [fits])
                .unwrap();
        }
        let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
        let ids: Vec<&str> = loaded
            .records
            .iter()
            .map(|entry| entry.record.id())
            .collect();
        assert_eq!(ids, ["a", "c"], "{damage}");
        let [damaged] = &loaded.damaged[..] else {
            panic!("{damage}: {:?}", loaded.damaged);
        };
        assert_eq!((&*damaged.id, damaged.position), ("b", Position(2)));
        assert!(
            damaged.reason.contains(reason),
            "{damage}: {}",
            damaged.reason
        );
        assert!(!damaged.reason.contains("kept"), "its content is shown");
        // It counts as a record.
        let page = store
            .load(&conversation_id, &Query::all().newest(2))
            .await
            .unwrap();
        assert_eq!((page.records.len(), page.damaged.len()), (1, 1));
        let mut pages = store.pages(&conversation_id, Query::all().limit(1));
        let mut seen = Vec::new();
        while let Some(one) = pages.next().await.unwrap().filter(|page| page.count() > 0) {
            seen.push(one.damaged.is_empty());
        }
        assert_eq!(seen, [true, false, true]);
        if number != DAMAGES.len() - 1 {
            let error = store
                .get(&conversation_id, RecordKind::Memory, "b")
                .await
                .unwrap_err();
            assert_eq!(error.damaged_record().unwrap().id, "b");
        }
        let error = store.integrity_check().await.unwrap_err();
        assert_eq!(kind(&error), SqliteErrorKind::Corrupt);
        // Writing it again repairs it, and it can be deleted.
        store.put(&conversation_id, note("a", "new")).await.unwrap();
        let deleted = store.delete_conversation(&conversation_id).await.unwrap();
        assert_eq!(deleted.records, 3);
        store.integrity_check().await.unwrap();
    }
}

#[tokio::test]
async fn truncated_file_is_reported_and_not_changed() {
    let folder = Folder::new();
    filled(&folder.file()).await;
    let bytes = fs::read(folder.file()).unwrap();
    for length in [20, 100, 4096, bytes.len() / 2, bytes.len() - 1] {
        fs::write(folder.file(), &bytes[..length]).unwrap();
        let error = SqliteStore::open(folder.file()).await.unwrap_err();
        let expected = if length < 32 {
            SqliteErrorKind::NoDatabase
        } else {
            SqliteErrorKind::Corrupt
        };
        assert_eq!(kind(&error), expected, "{length}");
        assert!(fs::read(folder.file()).unwrap() == bytes[..length]);
    }
}

/// Whatever byte changes: the store returns what was written, or reports damage.
#[tokio::test]
async fn changed_bytes_are_detected() {
    let folder = Folder::new();
    let written = filled(&folder.file()).await;
    let bytes = fs::read(folder.file()).unwrap();
    let mut random = 7_u64;
    let (mut message, mut missed) = (0, 0);
    for _ in 0..150 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let at = (random >> 20) as usize % bytes.len();
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (random >> 60 & 7);
        let file = folder.path().join("damaged.db");
        fs::write(&file, &damaged).unwrap();
        let Ok(store) = SqliteStore::open(&file).await else {
            message += 1;
            continue;
        };
        match values(&store).await {
            Err(_) => message += 1,
            Ok(found) => {
                assert!(
                    found.iter().all(|entry| written.contains(entry)),
                    "byte {at}"
                );
                if found != written {
                    missed += 1;
                    let error = store.integrity_check().await.unwrap_err();
                    assert_eq!(kind(&error), SqliteErrorKind::Corrupt, "byte {at}");
                }
            }
        }
        // Also if SQLite has trouble reading it.
        let _ = store.close().await;
    }
    assert!(
        message > 50,
        "only {message} of 150 were detected, {missed} by the check alone"
    );
}
