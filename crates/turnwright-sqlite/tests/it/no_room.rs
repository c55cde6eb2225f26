//! No space left, as reported by the system: a file size limit, and a full disk.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use turnwright_core::ErrorCode;
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::record::{ToolCall, ToolResults};
use turnwright_core::spool::Body;
use turnwright_core::spool::{DiskSpool, Spool};
use turnwright_core::store::{Store as _, StoreError, StoreExt as _};
use turnwright_sqlite::{SqliteErrorKind, SqliteStore};

use crate::child::{self, reported, say};
use crate::folder::Folder;
use crate::full::{check, conversation_id, pair};
use crate::kind;

/// Blocks of 512 bytes, or of 1024 for some shells.
const BLOCKS: &str = "4000";

/// Runs a task in a process with a file size limit of [`BLOCKS`], which gets an error instead of a signal.
fn within_limit(task: &str, file: &Path) -> Output {
    let mut command = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]);
    command.arg(std::env::current_exe().unwrap());
    child::with_task(&mut command, task, file);
    command.output().unwrap()
}

/// Returns the numbers that the child reported.
fn message(output: &Output) -> Vec<u64> {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let answer = text.lines().find_map(reported).unwrap();
    answer
        .split(' ')
        .map(|entry| entry.parse().unwrap())
        .collect()
}

/// Asserts that the error is reported and nothing was written.
async fn is_refused(store: &SqliteStore, acknowledged: u64, error: &StoreError) {
    let kind = kind(error);
    assert!(
        [SqliteErrorKind::Disk, SqliteErrorKind::Full].contains(&kind),
        "{error}"
    );
    assert!(error.to_string().contains("chat.db"), "{error}");
    check(store, acknowledged).await;
    // There is still no space: it fails again and loses nothing.
    let again = store
        .apply(&conversation_id(), pair(acknowledged + 1))
        .await;
    again.unwrap_err();
    check(store, acknowledged).await;
}

/// Writes until that fails.
pub(crate) async fn fill_the_log(file: &Path) {
    let store = SqliteStore::open(file).await.unwrap();
    let mut acknowledged = 0;
    loop {
        match store
            .apply(&conversation_id(), pair(acknowledged + 1))
            .await
        {
            Ok(revision) => acknowledged = revision.0,
            Err(error) => {
                is_refused(&store, acknowledged, &error).await;
                say(&acknowledged.to_string());
                return;
            }
        }
    }
}

/// Writes and closes, so that the log is moved into the file repeatedly, until one of them is full.
pub(crate) async fn fill_the_file(file: &Path) {
    let (mut acknowledged, mut largest) = (0, 0);
    loop {
        let store = SqliteStore::open(file).await.unwrap();
        check(&store, acknowledged).await;
        for _ in 0..10 {
            match store
                .apply(&conversation_id(), pair(acknowledged + 1))
                .await
            {
                Ok(revision) => acknowledged = revision.0,
                Err(error) => {
                    is_refused(&store, acknowledged, &error).await;
                    say(&format!("{acknowledged} {largest}"));
                    return;
                }
            }
        }
        // What could not be moved stays in the log.
        store.close().await.unwrap();
        largest = fs::metadata(file).unwrap().len();
    }
}

#[tokio::test]
async fn full_log_loses_no_acknowledged_batch() {
    let folder = Folder::new();
    let message = message(&within_limit("fill the log", &folder.file()));
    continues_with_space(&folder.file(), message[0]).await;
}

#[tokio::test]
async fn full_file_loses_no_acknowledged_batch() {
    let folder = Folder::new();
    let message = message(&within_limit("fill the file", &folder.file()));
    // The file reached the limit: more stayed in the log than there is space for.
    assert!([2_048_000, 4_096_000].contains(&message[1]), "{message:?}");
    continues_with_space(&folder.file(), message[0]).await;
}

/// Asserts that with enough space everything is stored and more can be written.
async fn continues_with_space(file: &Path, acknowledged: u64) {
    assert!(acknowledged > 10);
    let store = SqliteStore::open(file).await.unwrap();
    check(&store, acknowledged).await;
    let revision = store
        .apply(&conversation_id(), pair(acknowledged + 1))
        .await
        .unwrap();
    check(&store, revision.0).await;
    store.close().await.unwrap();
}

fn results(file: &Path) -> PathBuf {
    file.with_file_name("results")
}

/// Stores a result of this many thousand bytes, in the spool and referenced by a record.
async fn keep(store: &SqliteStore, spool: &dyn Spool, number: u64) -> Result<(), ErrorCode> {
    let text = "x".repeat(1_000 << number);
    let id = format!("result-{number}");
    let stored = SpooledArtifact::write(spool, &id, Body::Text(text), ArtifactKind::TEXT).await;
    let stored = stored.map_err(|error| error.code())?;
    let call = ToolCall::builder("look", "{}").id(id);
    let call = call.results(ToolResults::Artifacts(vec![stored]));
    store
        .put(&conversation_id(), call.build().unwrap())
        .await
        .unwrap();
    Ok(())
}

async fn with_spool(file: &Path) -> (SqliteStore, Arc<DiskSpool>) {
    let spool = Arc::new(DiskSpool::open(results(file)).await.unwrap());
    let builder = SqliteStore::builder(file).spool(spool.clone());
    (builder.open().await.unwrap(), spool)
}

/// Asserts that exactly this many complete results are stored.
async fn check_results(store: &SqliteStore, spool: &DiskSpool, count: u64) {
    let calls = store.tool_calls(&conversation_id()).await.unwrap();
    assert_eq!(calls.len() as u64, count);
    for (number, call) in (0_u64..).zip(calls) {
        let text = call.text().await.unwrap();
        assert_eq!(text.len(), 1_000 << number);
    }
    let files = fs::read_dir(results(store.path().unwrap())).unwrap();
    assert_eq!(files.count() as u64, count, "no partial file remains");
    assert_eq!(spool.list().await.unwrap().len() as u64, count);
}

/// Stores results, each twice as large as the previous one, until one does not fit.
pub(crate) async fn fill_the_spool(file: &Path) {
    let (store, spool) = with_spool(file).await;
    let mut stored = 0;
    while keep(&store, &*spool, stored).await.is_ok() {
        stored += 1;
    }
    assert_eq!(
        keep(&store, &*spool, stored).await,
        Err(ErrorCode::SPOOL_ERROR)
    );
    check_results(&store, &spool, stored).await;
    // A result that does not fit does not replace an existing one either.
    let large = Body::Text("y".repeat(1_000 << stored));
    assert!(spool.put("result-0", large).await.is_err());
    check_results(&store, &spool, stored).await;
    say(&stored.to_string());
}

#[tokio::test]
async fn full_spool_keeps_its_content_and_reports_the_failure() {
    let folder = Folder::new();
    let message = message(&within_limit("fill the spool", &folder.file()));
    let stored = message[0];
    assert!(stored > 3);
    let (store, spool) = with_spool(&folder.file()).await;
    check_results(&store, &spool, stored).await;
    keep(&store, &*spool, stored).await.unwrap();
    check_results(&store, &spool, stored + 1).await;
}

/// On a separate disk: first the store until it is full, then with more space, then the spool.
pub(crate) async fn fill_the_disk(file: &Path) {
    let store = SqliteStore::open(file).await.unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match store
            .apply(&conversation_id(), pair(acknowledged + 1))
            .await
        {
            Ok(revision) => acknowledged = revision.0,
            Err(error) => break error,
        }
    };
    assert_eq!(kind(&error), SqliteErrorKind::Full, "{error}");
    is_refused(&store, acknowledged, &error).await;
    // A new file does not fit either, which is reported.
    let other = SqliteStore::open(file.with_file_name("other.db")).await;
    let kind = kind(&other.unwrap_err());
    assert!(
        [SqliteErrorKind::Disk, SqliteErrorKind::Full].contains(&kind),
        "{kind:?}"
    );
    for name in ["other.db", "other.db-wal", "other.db-shm"] {
        let _ = fs::remove_file(file.with_file_name(name));
    }

    // The same store continues when there is space again.
    let folder = file.parent().unwrap();
    let more = Command::new("mount")
        .args(["-o", "remount,size=4m"])
        .arg(folder)
        .status();
    assert!(more.unwrap().success());
    let revision = store
        .apply(&conversation_id(), pair(acknowledged + 1))
        .await
        .unwrap();
    check(&store, revision.0).await;
    store.delete_conversation(&conversation_id()).await.unwrap();
    store.close().await.unwrap();

    let (store, spool) = with_spool(&file.with_file_name("second.db")).await;
    let mut stored = 0;
    while keep(&store, &*spool, stored).await.is_ok() {
        stored += 1;
    }
    check_results(&store, &spool, stored).await;
    say(&format!("{acknowledged} {stored}"));
}

/// A private file system in memory.
#[tokio::test]
async fn full_disk_loses_no_acknowledged_batch() {
    let folder = Folder::new();
    let disk = "mount -t tmpfs -o size=1m tmpfs";
    let alone = ["-rm", "sh", "-c"];
    let tried = Command::new("unshare")
        .args(alone)
        .arg(format!("{disk} \"$0\""))
        .arg(folder.path())
        .output();
    if !tried.is_ok_and(|entry| entry.status.success()) {
        crate::say("SKIPPED: no file system can be mounted here");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(alone);
    command.arg(format!("{disk} \"$0\" && exec \"$@\""));
    command.arg(folder.path());
    command.arg(std::env::current_exe().unwrap());
    child::with_task(&mut command, "fill the disk", &folder.file());
    let message = message(&command.output().unwrap());
    assert!(message[0] > 10 && message[1] > 3, "{message:?}");
}
