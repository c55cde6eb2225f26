//! Files that were damaged.

use std::fs;
use std::path::Path;

use serde_json::Value;
use turnwright_core::store::{Scope, StoreError, StoreExt as _};
use turnwright_store::sqlite::{SqliteStore, Trouble};

use crate::folder::Folder;
use crate::{note, trouble};

const RECORDS: usize = 400;

async fn filled(file: &Path) -> Vec<Value> {
    let store = SqliteStore::open(file).await.unwrap();
    let scope = Scope::new("chat");
    let records = (0..RECORDS).map(|n| {
        note(
            &format!("id-{n}"),
            &format!("needle {n:04} {}", "x".repeat(150)),
        )
    });
    store.put_all(&scope, records).await.unwrap();
    let written = values(&store).await.unwrap();
    store.close().await.unwrap();
    written
}

async fn values(store: &SqliteStore) -> Result<Vec<Value>, StoreError> {
    let records = store.records(&Scope::new("chat")).await?;
    Ok(records.iter().map(|it| it.to_value().unwrap()).collect())
}

#[tokio::test]
async fn pages_that_were_overwritten_are_told_and_nothing_is_written() {
    let folder = Folder::new();
    filled(&folder.file()).await;
    let mut bytes = fs::read(folder.file()).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0xa5);
    fs::write(folder.file(), &bytes).unwrap();

    let store = SqliteStore::open(folder.file()).await.unwrap();
    assert_eq!(
        trouble(&values(&store).await.unwrap_err()),
        Trouble::Corrupt
    );
    assert_eq!(
        trouble(&store.integrity_check().await.unwrap_err()),
        Trouble::Corrupt
    );
    let error = store
        .delete_conversation(&Scope::new("chat"))
        .await
        .unwrap_err();
    assert_eq!(trouble(&error), Trouble::Corrupt);
    store.close().await.unwrap();
    assert!(
        fs::read(folder.file()).unwrap() == bytes,
        "the file was changed"
    );
}

#[tokio::test]
async fn a_text_that_changed_on_the_disk_is_no_record() {
    let folder = Folder::new();
    filled(&folder.file()).await;
    let mut bytes = fs::read(folder.file()).unwrap();
    let needle = b"needle 0200";
    let at = bytes
        .windows(needle.len())
        .position(|it| it == needle)
        .unwrap();
    bytes[at] = b'N';
    fs::write(folder.file(), &bytes).unwrap();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let error = values(&store).await.unwrap_err();
    assert_eq!(trouble(&error), Trouble::Corrupt);
    assert!(error.to_string().contains("place 201"), "{error}");
    let error = store.integrity_check().await.unwrap_err();
    assert_eq!(trouble(&error), Trouble::Corrupt);
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_told_and_left_as_it_is() {
    let folder = Folder::new();
    filled(&folder.file()).await;
    let bytes = fs::read(folder.file()).unwrap();
    for length in [20, 100, 4096, bytes.len() / 2, bytes.len() - 1] {
        fs::write(folder.file(), &bytes[..length]).unwrap();
        let error = SqliteStore::open(folder.file()).await.unwrap_err();
        let expected = if length < 32 {
            Trouble::NoDatabase
        } else {
            Trouble::Corrupt
        };
        assert_eq!(trouble(&error), expected, "{length}");
        assert!(fs::read(folder.file()).unwrap() == bytes[..length]);
    }
}

/// Whatever byte changes: what comes back is what was written, or the check says that something is wrong.
#[tokio::test]
async fn no_byte_changes_a_record_unseen() {
    let folder = Folder::new();
    let written = filled(&folder.file()).await;
    let bytes = fs::read(folder.file()).unwrap();
    let mut random = 7_u64;
    let (mut told, mut missed) = (0, 0);
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
            told += 1;
            continue;
        };
        match values(&store).await {
            Err(_) => told += 1,
            Ok(found) => {
                assert!(found.iter().all(|it| written.contains(it)), "byte {at}");
                if found != written {
                    missed += 1;
                    let error = store.integrity_check().await.unwrap_err();
                    assert_eq!(trouble(&error), Trouble::Corrupt, "byte {at}");
                }
            }
        }
        // Also where SQLite finds it hard.
        let _ = store.close().await;
    }
    assert!(
        told > 50,
        "only {told} of 150 were told, {missed} by the check alone"
    );
}
