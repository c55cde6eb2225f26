//! Several processes on one file.

use std::path::Path;

use turnwright_core::record::{Record, RecordKind};
use turnwright_core::store::{Batch, Loaded, Query, Revision, Scope, Store as _, StoreExt as _};
use turnwright_store::sqlite::SqliteStore;

use crate::child::{self, said, say};
use crate::folder::Folder;
use crate::note;

const ROUNDS: u64 = 150;
const PROCESSES: u64 = 3;

fn counted(loaded: &Loaded) -> u64 {
    let counter = loaded.records.first().map(|stored| stored.record.clone());
    let counter = counter.and_then(Record::into_memory);
    counter.map_or(0, |it| it.text().parse().unwrap())
}

/// Counts up in one scope with the others, and writes to another without looking.
pub(crate) async fn count(file: &Path) {
    let store = SqliteStore::open(file).await.unwrap();
    let (together, beside) = (Scope::new("together"), Scope::new("beside"));
    let counter = Query::all().kind(RecordKind::Memory).ids(["counter"]);
    for round in 0..ROUNDS {
        loop {
            let loaded = store.load(&together, &counter).await.unwrap();
            let next = (counted(&loaded) + 1).to_string();
            let batch = Batch::new()
                .put(note("counter", &next))
                .expect(loaded.revision);
            match store.apply(&together, batch).await {
                Ok(_) => break,
                Err(error) => assert!(error.found_revision().is_some(), "{error}"),
            }
        }
        let id = format!("{}-{round}", std::process::id());
        let Revision(revision) = store.put(&beside, note(&id, "x")).await.unwrap();
        say(&revision.to_string());
    }
}

#[tokio::test]
async fn processes_on_one_file_lose_no_update_and_come_to_an_end() {
    let folder = Folder::new();
    // Not even the file is there: they make it together.
    let started = (0..PROCESSES).map(|_| child::command("count", &folder.file()).spawn().unwrap());
    let mut revisions = Vec::new();
    for process in started.collect::<Vec<_>>() {
        let output = process.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        revisions.extend(
            text.lines()
                .filter_map(said)
                .map(|it| it.parse::<u64>().unwrap()),
        );
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=PROCESSES * ROUNDS).collect::<Vec<_>>());

    let store = SqliteStore::open(folder.file()).await.unwrap();
    let loaded = store
        .load(&Scope::new("together"), &Query::all())
        .await
        .unwrap();
    assert_eq!(counted(&loaded), PROCESSES * ROUNDS);
    assert_eq!(loaded.revision, Revision(PROCESSES * ROUNDS));
    let loaded = store
        .load(&Scope::new("beside"), &Query::all())
        .await
        .unwrap();
    let places: Vec<u64> = loaded.records.iter().map(|it| it.position.0).collect();
    assert_eq!(places, (1..=PROCESSES * ROUNDS).collect::<Vec<_>>());
    store.integrity_check().await.unwrap();
}
