//! Concurrent opening of one new file.

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use tokio::runtime::Builder;
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_sqlite::SqliteStore;

use crate::child::{self, reported, say};
use crate::folder::Folder;
use crate::note;

const FILES: usize = 10;

/// Opens and closes each of a series of new files. Reports errors, and `done` at the end.
pub(crate) async fn open_new_files(folder: &Path) {
    for number in 0..FILES {
        match SqliteStore::open(folder.join(format!("{number}.db"))).await {
            Ok(store) => store.close().await.unwrap(),
            Err(error) => say(&format!("failed: {error}")),
        }
    }
    say("done");
}

/// Opens one new file from many threads concurrently, and returns the failures.
fn open_at_once(threads: usize) -> Vec<String> {
    let folder = Folder::new();
    let start = Arc::new(Barrier::new(threads));
    let opened = (0..threads).map(|number| {
        let (file, start) = (folder.file(), Arc::clone(&start));
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_time().build().unwrap();
            start.wait();
            runtime.block_on(async {
                let store = SqliteStore::open(&file).await?;
                let id = number.to_string();
                store
                    .put(&ConversationId::new("chat"), note(&id, "x"))
                    .await?;
                store.close().await
            })
        })
    });
    let opened: Vec<_> = opened.collect();
    let done = opened.into_iter().map(|thread| thread.join().unwrap());
    let failed: Vec<String> = done
        .filter_map(|done| Some(done.err()?.to_string()))
        .collect();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(folder.file()).await.unwrap();
        store.integrity_check().await.unwrap();
        let stored = store
            .records(&ConversationId::new("chat"))
            .await
            .unwrap()
            .len();
        assert_eq!(stored, threads - failed.len());
    });
    failed
}

/// Opens the same new files from this many processes, and returns the failures.
fn open_in_processes(processes: usize) -> Vec<String> {
    let folder = Folder::new();
    let started = (0..processes).map(|_| {
        let mut command = child::command("open new files", folder.path());
        command.spawn().unwrap()
    });
    let mut failed = Vec::new();
    for process in started.collect::<Vec<_>>() {
        let output = process.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        let lines: Vec<&str> = text.lines().filter_map(reported).collect();
        assert_eq!(lines.last(), Some(&"done"), "{text}");
        let wrong = lines.into_iter().filter(|line| *line != "done");
        failed.extend(wrong.map(str::to_owned));
    }
    failed
}

#[test]
fn concurrent_threads_can_open_a_new_file() {
    for _ in 0..12 {
        assert_eq!(open_at_once(8), Vec::<String>::new());
    }
}

#[test]
fn concurrent_processes_can_open_new_files() {
    assert_eq!(open_in_processes(6), Vec::<String>::new());
}

/// 1,200 opens by processes, and as many by threads.
#[test]
#[ignore = "takes a minute"]
fn twelve_hundred_opens_of_new_files_all_succeed() {
    let mut by_processes = Vec::new();
    for _ in 0..6 {
        by_processes.extend(open_in_processes(20));
    }
    let mut by_threads = Vec::new();
    for _ in 0..60 {
        by_threads.extend(open_at_once(20));
    }
    crate::say(format!(
        "{} of 1,200 opens by processes failed, {} of 1,200 by threads",
        by_processes.len(),
        by_threads.len()
    ));
    assert_eq!([by_processes, by_threads].concat(), Vec::<String>::new());
}
