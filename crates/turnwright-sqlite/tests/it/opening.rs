//! Opening files, and that nothing is overwritten.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_sqlite::{SqliteError, SqliteErrorKind, SqliteStore};

use crate::child::{self, reported, say};
use crate::folder::{Folder, contents};
use crate::{kind, note};

async fn written(file: &Path) {
    let store = SqliteStore::open(file).await.unwrap();
    store
        .put(&ConversationId::new("chat"), note("a", "kept"))
        .await
        .unwrap();
    store.close().await.unwrap();
}

/// Asserts that opening fails and the folder is unchanged.
async fn refused(folder: &Folder) -> SqliteErrorKind {
    let before = contents(folder.path());
    let error = SqliteStore::open(folder.file()).await.unwrap_err();
    let mut after = contents(folder.path());
    // The index of a log is rebuilt by every reader.
    after.retain(|(path, _)| !path.to_string_lossy().ends_with("-shm"));
    let mut before = before;
    before.retain(|(path, _)| !path.to_string_lossy().ends_with("-shm"));
    assert!(before == after, "the folder was changed: {error}");
    assert!(error.to_string().contains("chat.db"), "{error}");
    kind(&error)
}

#[tokio::test]
async fn file_that_is_not_a_database_is_not_changed() {
    for text in [
        "x",
        "Dear diary, today",
        "SQLite format 3",
        &"SQLite format 4\0".repeat(500),
    ] {
        let folder = Folder::new();
        fs::write(folder.file(), text).unwrap();
        assert_eq!(
            refused(&folder).await,
            SqliteErrorKind::NoDatabase,
            "{text:.20}"
        );
    }
}

#[tokio::test]
async fn database_of_another_program_is_not_changed() {
    let folder = Folder::new();
    let other = Connection::open(folder.file()).unwrap();
    other
        .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
        .unwrap();
    drop(other);
    assert_eq!(refused(&folder).await, SqliteErrorKind::OtherProgram);
}

#[tokio::test]
async fn later_format_and_its_log_are_not_changed() {
    let folder = Folder::new();
    written(&folder.file()).await;
    let later = Connection::open(folder.file()).unwrap();
    later.pragma_update(None, "user_version", 99).unwrap();
    drop(later);
    let newer = SqliteErrorKind::NewerFormat {
        found: 99,
        known: 1,
    };
    assert_eq!(refused(&folder).await, newer);

    // Half of it is in the log of a dead process.
    let other = Folder::new();
    let writing = Connection::open(folder.file()).unwrap();
    writing.execute_batch("CREATE TABLE later (x)").unwrap();
    for name in ["chat.db", "chat.db-wal"] {
        fs::copy(folder.path().join(name), other.path().join(name)).unwrap();
    }
    assert!(
        fs::metadata(other.path().join("chat.db-wal"))
            .unwrap()
            .len()
            > 0
    );
    assert_eq!(refused(&other).await, newer);
}

#[tokio::test]
async fn file_upgraded_while_open_is_no_longer_written() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    store.put(&conversation_id, note("a", "x")).await.unwrap();
    let later = Connection::open(folder.file()).unwrap();
    later.pragma_update(None, "user_version", 2).unwrap();
    let newer = SqliteErrorKind::NewerFormat { found: 2, known: 1 };
    let error = store
        .put(&conversation_id, note("b", "x"))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), newer);
    assert_eq!(
        kind(&store.records(&conversation_id).await.unwrap_err()),
        newer
    );
    let left: i64 = later
        .query_row("SELECT count(*) FROM records", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 1);
}

#[tokio::test]
async fn missing_folder_is_reported() {
    let folder = Folder::new();
    let error = SqliteStore::open(folder.path().join("no/chat.db"))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::NoFolder);
    assert!(contents(folder.path()).is_empty());
    let error = SqliteStore::open(folder.path()).await.unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::CannotOpen);
}

#[tokio::test]
async fn empty_file_becomes_a_database() {
    let folder = Folder::new();
    fs::write(folder.file(), "").unwrap();
    written(&folder.file()).await;
    let store = SqliteStore::open(folder.file()).await.unwrap();
    assert_eq!(
        store
            .records(&ConversationId::new("chat"))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(store.path(), Some(folder.file().as_path()));
}

#[tokio::test]
async fn log_of_a_dead_process_is_read() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    for n in 0..20 {
        store
            .put(&ConversationId::new("chat"), note(&n.to_string(), "x"))
            .await
            .unwrap();
    }
    let other = Folder::new();
    for name in ["chat.db", "chat.db-wal"] {
        fs::copy(folder.path().join(name), other.path().join(name)).unwrap();
    }
    let again = SqliteStore::open(other.file()).await.unwrap();
    assert_eq!(
        again
            .records(&ConversationId::new("chat"))
            .await
            .unwrap()
            .len(),
        20
    );
    again.integrity_check().await.unwrap();
}

#[tokio::test]
async fn closing_moves_the_log_and_closes_all_clones() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let (clone, conversation_id) = (store.clone(), ConversationId::new("chat"));
    store.put(&conversation_id, note("a", "x")).await.unwrap();
    store.records(&conversation_id).await.unwrap();
    store.close().await.unwrap();
    store.close().await.unwrap();
    let names: Vec<PathBuf> = contents(folder.path())
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(names, [folder.file()]);
    let error = clone
        .put(&conversation_id, note("b", "x"))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::Closed);
    assert_eq!(
        kind(&clone.records(&conversation_id).await.unwrap_err()),
        SqliteErrorKind::Closed
    );
}

#[tokio::test]
async fn locked_file_is_reported() {
    let folder = Folder::new();
    written(&folder.file()).await;
    let other = Connection::open(folder.file()).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE")
        .unwrap();
    let builder = SqliteStore::builder(folder.file()).busy_timeout(Duration::from_millis(20));
    let error = builder.open().await.unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::Locked);
}

#[tokio::test]
async fn read_only_store_never_writes() {
    let folder = Folder::new();
    let missing = SqliteStore::builder(folder.file())
        .read_only()
        .open()
        .await
        .unwrap_err();
    assert_eq!(kind(&missing), SqliteErrorKind::CannotOpen);
    assert!(contents(folder.path()).is_empty());

    written(&folder.file()).await;
    let before = contents(folder.path());
    let store = SqliteStore::builder(folder.file())
        .read_only()
        .open()
        .await
        .unwrap();
    let conversation_id = ConversationId::new("chat");
    assert_eq!(store.records(&conversation_id).await.unwrap().len(), 1);
    let error = store
        .put(&conversation_id, note("b", "x"))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::ReadOnly);
    let error = store
        .delete_conversation(&conversation_id)
        .await
        .unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::ReadOnly);
    store.close().await.unwrap();
    assert_eq!(contents(folder.path())[0], before[0]);
}

#[tokio::test]
async fn path_that_looks_like_a_uri_is_a_path() {
    let folder = Folder::new();
    let file = folder.path().join("file:chat.db?mode=memory");
    written(&file).await;
    assert!(fs::metadata(&file).unwrap().len() > 0);
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    store
        .put(&ConversationId::new("chat"), note("a", "x"))
        .await
        .unwrap();
    let all = contents(folder.path());
    assert_eq!(all.len(), 3);
    for (path, _) in all {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

/// In a child process: opens a read-only folder or file for writing and for reading.
pub(crate) async fn open_read_only(file: &Path) {
    let tell = |opened: Result<SqliteStore, _>| match opened {
        Ok(_) => say("opened"),
        Err(error) => say(&format!("{:?}", SqliteError::of(&error).unwrap().kind())),
    };
    tell(SqliteStore::open(file).await);
    let reading = SqliteStore::builder(file).read_only().open().await;
    if let Ok(store) = &reading {
        assert_eq!(
            store
                .records(&ConversationId::new("chat"))
                .await
                .unwrap()
                .len(),
            1
        );
    }
    tell(reading);
}

/// Missing write permission is reported to a user who cannot bypass it.
#[cfg(unix)]
#[tokio::test]
async fn missing_write_permission_is_reported() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    let allow =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = Folder::new();
    written(&folder.file()).await;
    let ask = |file: &Path| {
        let mut command = child::command("open what may not be written", file);
        if fs::metadata(folder.path()).unwrap().uid() == 0 {
            // Permissions do not apply to root.
            command.uid(65_534).gid(65_534);
        }
        let output = match command.output() {
            // That user cannot access this binary.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
            output => output.unwrap(),
        };
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        let message = text.lines().filter_map(reported).map(str::to_owned);
        Some(message.collect::<Vec<_>>())
    };

    let before = fs::read(folder.file()).unwrap();
    allow(&folder.file(), 0o444);
    allow(folder.path(), 0o777);
    let Some(message) = ask(&folder.file()) else {
        crate::say("SKIPPED: no other user can start this binary");
        return;
    };
    assert_eq!(message, ["ReadOnly", "opened"]);
    allow(folder.path(), 0o555);
    let message = ask(&folder.file()).unwrap();
    assert_eq!(message, ["ReadOnly", "opened"]);
    let message = ask(&folder.path().join("new.db")).unwrap();
    assert_eq!(message[0], "ReadOnly");
    assert_eq!(fs::read(folder.file()).unwrap(), before);
    allow(folder.path(), 0o755);
}

/// Opens the store in a process for which the folder is mounted read-only.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn read_only_file_system_is_reported_and_readable() {
    let folder = Folder::new();
    written(&folder.file()).await;
    let before = contents(folder.path());
    let alone = ["-rm", "sh", "-c"];
    let bound = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";
    let tried = Command::new("unshare")
        .args(alone)
        .arg(bound)
        .arg(folder.path())
        .output();
    if !tried.is_ok_and(|entry| entry.status.success()) {
        crate::say("SKIPPED: nothing can be mounted here");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(alone).arg(format!("{bound} && exec \"$@\""));
    command.arg(folder.path());
    command.arg(std::env::current_exe().unwrap());
    child::with_task(&mut command, "open what may not be written", &folder.file());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let message: Vec<&str> = text.lines().filter_map(reported).collect();
    assert_eq!(message, ["ReadOnly", "opened"]);
    assert!(contents(folder.path()) == before);
}

/// The immutable flag, which applies to root too.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn immutable_file_is_reported_and_readable() {
    struct Immutable(PathBuf);
    impl Immutable {
        fn flag(path: &Path, flag: &str) -> bool {
            let done = Command::new("chattr").arg(flag).arg(path).output();
            done.is_ok_and(|entry| entry.status.success())
        }
    }
    impl Drop for Immutable {
        fn drop(&mut self) {
            Immutable::flag(&self.0, "-i");
        }
    }

    for whole_folder in [false, true] {
        let folder = Folder::new();
        written(&folder.file()).await;
        let before = fs::read(folder.file()).unwrap();
        let path = if whole_folder {
            folder.path().to_owned()
        } else {
            folder.file()
        };
        if !Immutable::flag(&path, "+i") {
            crate::say("SKIPPED: this user or file system cannot make a file immutable");
            return;
        }
        let unchanging = Immutable(path);
        let output = child::command("open what may not be written", &folder.file()).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let message: Vec<&str> = text.lines().filter_map(reported).collect();
        assert_eq!(message, ["ReadOnly", "opened"], "{text}");
        drop(unchanging);
        assert_eq!(fs::read(folder.file()).unwrap(), before);
    }
}

/// A foreign file may look like one of ours and contain code.
#[tokio::test]
async fn file_with_foreign_schema_objects_is_rejected() {
    for hostile in [
        "CREATE TABLE loot (body); CREATE TRIGGER t BEFORE DELETE ON records BEGIN INSERT INTO loot VALUES (old.body); END",
        "CREATE VIEW v AS SELECT 1",
        "DROP INDEX media_by_id; CREATE INDEX media_by_id ON media (media_id || 'x')",
        "ALTER TABLE records RENAME TO hidden; CREATE VIEW records AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM hidden, n",
    ] {
        let folder = Folder::new();
        let store = SqliteStore::open(folder.file()).await.unwrap();
        store
            .put(&ConversationId::new("a"), note("n", "x"))
            .await
            .unwrap();
        store.close().await.unwrap();
        let conn = Connection::open(folder.file()).unwrap();
        conn.execute_batch(hostile).unwrap();
        drop(conn);
        let before = fs::read(folder.file()).unwrap();
        for read_only in [false, true] {
            let opened = SqliteStore::builder(folder.file());
            let opened = if read_only {
                opened.read_only()
            } else {
                opened
            };
            let error = opened.open().await.unwrap_err();
            assert_eq!(
                kind(&error),
                SqliteErrorKind::OtherProgram,
                "{hostile}: {error}"
            );
        }
        assert!(fs::read(folder.file()).unwrap() == before, "{hostile}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn pipe_is_rejected_without_blocking() {
    let folder = Folder::new();
    let pipe = Command::new("mkfifo").arg(folder.file()).status();
    if !pipe.is_ok_and(|made| made.success()) {
        return crate::say("skipped: there is no mkfifo");
    }
    let error = SqliteStore::open(folder.file()).await.unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}
