//! What is opened, what is not, and that nothing is overwritten.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_store::sqlite::{SqliteError, SqliteErrorKind, SqliteStore};

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

/// Opening fails, and the folder is as it was.
async fn refused(folder: &Folder) -> SqliteErrorKind {
    let before = contents(folder.path());
    let error = SqliteStore::open(folder.file()).await.unwrap_err();
    let mut after = contents(folder.path());
    // The index of a log is made anew by whoever looks.
    after.retain(|(path, _)| !path.to_string_lossy().ends_with("-shm"));
    let mut before = before;
    before.retain(|(path, _)| !path.to_string_lossy().ends_with("-shm"));
    assert!(before == after, "the folder was changed: {error}");
    assert!(error.to_string().contains("chat.db"), "{error}");
    kind(&error)
}

#[tokio::test]
async fn what_is_no_database_is_left_as_it_is() {
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
async fn a_database_of_another_program_is_left_as_it_is() {
    let folder = Folder::new();
    let other = Connection::open(folder.file()).unwrap();
    other
        .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
        .unwrap();
    drop(other);
    assert_eq!(refused(&folder).await, SqliteErrorKind::OtherProgram);
}

#[tokio::test]
async fn a_later_format_is_left_as_it_is_and_its_log_too() {
    let folder = Folder::new();
    written(&folder.file()).await;
    let later = Connection::open(folder.file()).unwrap();
    later.pragma_update(None, "user_version", 99).unwrap();
    drop(later);
    let newer = SqliteErrorKind::NewerFormat {
        found: 99,
        known: 7,
    };
    assert_eq!(refused(&folder).await, newer);

    // Half of it stands in the log of a process that died.
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
async fn a_file_that_is_upgraded_while_it_is_open_is_not_written_any_more() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    store.put(&conversation_id, note("a", "x")).await.unwrap();
    let later = Connection::open(folder.file()).unwrap();
    later.pragma_update(None, "user_version", 8).unwrap();
    let newer = SqliteErrorKind::NewerFormat { found: 8, known: 7 };
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
async fn a_folder_that_is_not_there_is_told() {
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
async fn an_empty_file_becomes_a_database() {
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
async fn a_log_that_was_left_behind_is_read() {
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
async fn closing_moves_the_log_into_the_file_and_ends_every_handle() {
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
async fn a_file_that_another_program_holds_is_told_as_locked() {
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
async fn what_is_opened_for_reading_is_read_and_never_written() {
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
async fn a_path_is_a_path_whatever_it_looks_like() {
    let folder = Folder::new();
    let file = folder.path().join("file:chat.db?mode=memory");
    written(&file).await;
    assert!(fs::metadata(&file).unwrap().len() > 0);
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_and_those_beside_it_are_for_their_owner_alone() {
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

/// In another process: a folder or a file that may not be written, opened for writing and for reading.
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

/// What may not be written is told, by a user who has no way around it.
#[cfg(unix)]
#[tokio::test]
async fn what_may_not_be_written_is_told() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    let allow =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = Folder::new();
    written(&folder.file()).await;
    let ask = |file: &Path| {
        let mut command = child::command("open what may not be written", file);
        if fs::metadata(folder.path()).unwrap().uid() == 0 {
            // Whoever may do everything cannot be refused anything.
            command.uid(65_534).gid(65_534);
        }
        let output = match command.output() {
            // That user does not reach this binary.
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
        crate::say(
            "SKIPPED: no other user can start this binary, so that nothing can be forbidden",
        );
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

/// Asks in a process for which the folder is mounted for reading only.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_system_that_may_only_be_read_is_told_and_is_read() {
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
        crate::say("SKIPPED: nothing can be mounted here, and so not for reading only");
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

/// A flag that binds even those who may do everything.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_nobody_may_change_is_told_and_is_read() {
    struct Unchanging(PathBuf);
    impl Unchanging {
        fn flag(path: &Path, flag: &str) -> bool {
            let done = Command::new("chattr").arg(flag).arg(path).output();
            done.is_ok_and(|entry| entry.status.success())
        }
    }
    impl Drop for Unchanging {
        fn drop(&mut self) {
            Unchanging::flag(&self.0, "-i");
        }
    }

    for whole_folder in [false, true] {
        let folder = Folder::new();
        written(&folder.file()).await;
        let before = fs::read(folder.file()).unwrap();
        let path = match whole_folder {
            true => folder.path().to_owned(),
            false => folder.file(),
        };
        if !Unchanging::flag(&path, "+i") {
            crate::say("SKIPPED: this user or file system cannot make a file unchanging");
            return;
        }
        let unchanging = Unchanging(path);
        let output = child::command("open what may not be written", &folder.file()).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let message: Vec<&str> = text.lines().filter_map(reported).collect();
        assert_eq!(message, ["ReadOnly", "opened"], "{text}");
        drop(unchanging);
        assert_eq!(fs::read(folder.file()).unwrap(), before);
    }
}

/// A file that somebody else made may look like one of ours, and do more than hold what is in it.
#[tokio::test]
async fn a_file_with_more_in_it_than_our_tables_is_left_alone() {
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
            let opened = match read_only {
                true => opened.read_only(),
                false => opened,
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
async fn what_is_no_file_is_not_waited_for() {
    let folder = Folder::new();
    let pipe = Command::new("mkfifo").arg(folder.file()).status();
    if !pipe.is_ok_and(|made| made.success()) {
        return crate::say("skipped: there is no mkfifo");
    }
    let error = SqliteStore::open(folder.file()).await.unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
}
