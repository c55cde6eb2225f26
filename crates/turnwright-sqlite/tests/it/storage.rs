//! The storage of a file: the files next to the database, and the secret that every process gets.

use std::fs;
use std::sync::{Arc, Barrier};

use turnwright_core::Storage;
use turnwright_sqlite::{SqliteError, SqliteErrorKind, SqliteStorage as _, SqliteStore};

use crate::folder::Folder;

/// A newer one does not resolve beside sqlx: a build can contain only one version of `libsqlite3-sys`. scripts/resolve-beside-sqlx.sh
/// tests that, and needs the package registry.
#[test]
fn version_of_rusqlite_that_sqlx_can_use_is_allowed() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    assert!(manifest.contains("\nrusqlite = { version = \">=0.39, "));
}

async fn secret_of(folder: &Folder) -> [u8; 32] {
    let storage = Storage::sqlite(folder.file()).await.unwrap();
    storage.secret().unwrap().expose()
}

#[tokio::test]
async fn secret_and_folder_are_created_next_to_the_file_and_kept() {
    let folder = Folder::new();
    let first = secret_of(&folder).await;
    assert_ne!(first, [0; 32]);
    assert_eq!(secret_of(&folder).await, first);
    let file = folder.path().join("chat.db.secret");
    assert_eq!(fs::read(&file).unwrap(), first);
    let left = fs::read_dir(folder.path()).unwrap();
    let temporary = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tmp"));
    assert_eq!(temporary.count(), 0);
    let other = Folder::new();
    assert_ne!(secret_of(&other).await, first);
}

#[cfg(unix)]
#[tokio::test]
async fn secret_accessible_to_other_users_is_rejected() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let secret = secret_of(&folder).await;
    let file = folder.path().join("chat.db.secret");
    let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    for wide in [0o640, 0o604, 0o666, 0o620] {
        mode(wide);
        refused(&folder, "chmod 600").await;
    }
    mode(0o400);
    assert_eq!(secret_of(&folder).await, secret);
}

#[tokio::test]
async fn secret_of_wrong_length_is_rejected_and_not_changed() {
    for bytes in [&b""[..], &[7; 31], &[7; 33], &[7; 5_000]] {
        let folder = Folder::new();
        secret_of(&folder).await;
        let file = folder.path().join("chat.db.secret");
        fs::write(&file, bytes).unwrap();
        refused(&folder, "instead of 32: restore it from a backup").await;
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

async fn refused(folder: &Folder, advice: &str) {
    let error = Storage::sqlite(folder.file()).await.unwrap_err();
    let error = SqliteError::of(&error).unwrap();
    assert_eq!(error.kind(), SqliteErrorKind::Secret);
    assert!(error.detail().unwrap().contains(advice), "{error}");
}

#[test]
fn concurrent_creation_yields_one_secret() {
    for _ in 0..10 {
        let folder = Arc::new(Folder::new());
        let barrier = Arc::new(Barrier::new(8));
        let racing: Vec<_> = (0..8)
            .map(|_| {
                let (folder, barrier) = (Arc::clone(&folder), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build();
                    runtime.unwrap().block_on(async {
                        let store = SqliteStore::open(folder.file()).await.unwrap();
                        barrier.wait();
                        let storage = store.storage().await.unwrap();
                        storage.secret().unwrap().expose()
                    })
                })
            })
            .collect();
        let mut secrets: Vec<_> = racing.into_iter().map(|one| one.join().unwrap()).collect();
        secrets.dedup();
        assert_eq!(secrets.len(), 1);
    }
}

#[tokio::test]
async fn read_only_store_creates_no_secret() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    store.close().await.unwrap();
    let reading = SqliteStore::builder(folder.file()).read_only();
    let storage = reading.open().await.unwrap().storage().await.unwrap();
    assert!(storage.secret().is_ok());
    assert!(!folder.path().join("chat.db.secret").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn link_uses_the_secret_of_its_target() {
    let folder = Folder::new();
    let secret = secret_of(&folder).await;
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(folder.file(), &link).unwrap();
    let storage = Storage::sqlite(&link).await.unwrap();
    assert_eq!(storage.secret().unwrap().expose(), secret);
}
