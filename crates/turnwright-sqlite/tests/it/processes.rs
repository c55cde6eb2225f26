//! Several processes on one file.

use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

use turnwright_core::record::{Memory, Record, RecordKind};
use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, Loaded, Query, Revision, Store as _, StoreExt as _,
};
use turnwright_sqlite::SqliteStore;

use crate::child::{self, reported, say};
use crate::folder::Folder;
use crate::{line, note};

const ROUNDS: u64 = 150;
const PROCESSES: u64 = 3;
const SECONDS: &str = "TURNWRIGHT_STORE_SECONDS";

fn counted(loaded: &Loaded) -> u64 {
    let counter = loaded.records.first().map(|stored| stored.record.clone());
    let counter = counter.and_then(Record::downcast::<Memory>);
    counter.map_or(0, |entry| entry.text().parse().unwrap())
}

/// Counts up in a conversation shared with the others, and writes to another one without reading. Returns its
/// revision.
pub(crate) async fn count(file: &Path) {
    let store = SqliteStore::open(file).await.unwrap();
    for round in 0..ROUNDS {
        let revision = count_once(&store, round).await;
        say(&revision.to_string());
    }
}

async fn count_once(store: &SqliteStore, round: u64) -> u64 {
    let (together, parallel) = (ConversationId::new("together"), ConversationId::new("own"));
    let counter = Query::all().kind(RecordKind::Memory).ids(["counter"]);
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
    let Revision(revision) = store.put(&parallel, note(&id, "x")).await.unwrap();
    revision
}

/// For as many seconds as the environment sets: now and then begins a call, reads everything, deletes a conversation,
/// and reopens the file. Reports how often it counted.
pub(crate) async fn count_for_a_while(file: &Path) {
    let seconds = env::var(SECONDS).unwrap().parse().unwrap();
    let until = Instant::now() + Duration::from_secs(seconds);
    let own = ConversationId::new(format!("own-{}", std::process::id()));
    let mut store = SqliteStore::open(file).await.unwrap();
    let mut counted = 0;
    while Instant::now() < until {
        count_once(&store, counted).await;
        counted += 1;
        let begun = line(&format!("call-{counted}"), "started");
        store.put(&own, begun).await.unwrap();
        if counted.is_multiple_of(50) {
            let all = store.records(&own).await.unwrap();
            assert_eq!(all.len(), 50);
            store.delete_conversation(&own).await.unwrap();
        }
        if counted.is_multiple_of(200) {
            store.close().await.unwrap();
            store = SqliteStore::open(file).await.unwrap();
        }
    }
    store.delete_conversation(&own).await.unwrap();
    say(&counted.to_string());
}

async fn count_in_two(seconds: u64) -> u64 {
    let folder = Folder::new();
    let started = (0..2).map(|_| {
        let mut command = child::command("count for a while", &folder.file());
        command.env(SECONDS, seconds.to_string()).spawn().unwrap()
    });
    let mut all = 0;
    for process in started.collect::<Vec<_>>() {
        let output = process.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        let own: u64 = text.lines().find_map(reported).unwrap().parse().unwrap();
        assert!(own > 0, "one of them never counted");
        all += own;
    }
    let store = SqliteStore::open(folder.file()).await.unwrap();
    for (name, records) in [("together", 1), ("own", all)] {
        let loaded = store
            .load(&ConversationId::new(name), &Query::all())
            .await
            .unwrap();
        assert_eq!(loaded.revision, Revision(all), "{name}");
        assert_eq!(loaded.records.len() as u64, records, "{name}");
        if name == "together" {
            assert_eq!(counted(&loaded), all);
        }
    }
    let left = store
        .conversations(&ConversationFilter::all())
        .await
        .unwrap();
    let left: Vec<_> = left.into_iter().map(|found| found.id).collect();
    assert_eq!(left, ["own", "together"].map(ConversationId::new));
    store.integrity_check().await.unwrap();
    all
}

#[tokio::test]
async fn two_processes_lose_no_update_in_a_second() {
    count_in_two(1).await;
}

#[tokio::test]
#[ignore = "takes a minute"]
async fn two_processes_lose_no_update_for_a_minute() {
    let all = count_in_two(60).await;
    crate::say(format!("counted {all} times together in a minute"));
}

#[tokio::test]
async fn concurrent_processes_lose_no_update() {
    let folder = Folder::new();
    // The file does not exist yet: they create it concurrently.
    let started = (0..PROCESSES).map(|_| child::command("count", &folder.file()).spawn().unwrap());
    let mut revisions = Vec::new();
    for process in started.collect::<Vec<_>>() {
        let output = process.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        revisions.extend(
            text.lines()
                .filter_map(reported)
                .map(|entry| entry.parse::<u64>().unwrap()),
        );
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=PROCESSES * ROUNDS).collect::<Vec<_>>());

    let store = SqliteStore::open(folder.file()).await.unwrap();
    let loaded = store
        .load(&ConversationId::new("together"), &Query::all())
        .await
        .unwrap();
    assert_eq!(counted(&loaded), PROCESSES * ROUNDS);
    assert_eq!(loaded.revision, Revision(PROCESSES * ROUNDS));
    let loaded = store
        .load(&ConversationId::new("own"), &Query::all())
        .await
        .unwrap();
    let places: Vec<u64> = loaded
        .records
        .iter()
        .map(|entry| entry.position.0)
        .collect();
    assert_eq!(places, (1..=PROCESSES * ROUNDS).collect::<Vec<_>>());
    store.integrity_check().await.unwrap();
}
