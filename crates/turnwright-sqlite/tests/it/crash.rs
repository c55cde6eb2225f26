//! A process that is killed while it writes.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Child;

use tokio::task::JoinHandle;
use turnwright_core::record::{Memory, RecordKind};
use turnwright_core::store::{Batch, ConversationId, Query, Revision, Store as _};
use turnwright_sqlite::SqliteStore;

use crate::child::{self, reported, say};
use crate::folder::Folder;
use crate::{line, note};

const WRITERS: usize = 3;

/// Each writer has its own conversation and puts three records per revision, one of them repeatedly, so that a
/// partial batch is detected. The writers queue up and are committed together.
pub(crate) async fn write(file: &Path) {
    let store = SqliteStore::open(file).await.unwrap();
    let writers = (0..WRITERS).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let conversation_id = ConversationId::new(format!("s{number}"));
            let loaded = store
                .load(&conversation_id, &Query::all().limit(0))
                .await
                .unwrap();
            let mut next = loaded.revision.0 + 1;
            loop {
                let batch = Batch::new()
                    .put(note(&format!("a-{next}"), "one half"))
                    .put(note("last", &next.to_string()))
                    .put(line(
                        &format!("b-{next}"),
                        if next.is_multiple_of(3) {
                            "started"
                        } else {
                            "done"
                        },
                    ))
                    .expect(Revision(next - 1));
                let revision = store.apply(&conversation_id, batch).await.unwrap();
                say(&format!("{number} {}", revision.0));
                next += 1;
            }
        })
    });
    let mut running: Vec<JoinHandle<Infallible>> = writers.collect();
    // None of them ends before it is killed.
    running.remove(0).await.unwrap();
}

/// Reads acknowledgements up to the limit, kills the process, and reads what was reported until then.
fn kill_after(mut process: Child, acknowledgements: u64, acknowledged: &mut BTreeMap<usize, u64>) {
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut note = |line: std::io::Result<String>| {
        let line = line.unwrap_or_default();
        // The last line may be truncated, including its number.
        let (writer, revision) = reported(&line)?.split_once(' ')?;
        let entry = acknowledged.entry(writer.parse().ok()?).or_insert(0);
        *entry = (*entry).max(revision.parse().ok()?);
        Some(())
    };
    let mut seen = 0;
    while seen < acknowledgements {
        match lines.next() {
            Some(line) => seen += u64::from(note(line).is_some()),
            None => panic!("the child ended by itself: {:?}", process.wait()),
        }
    }
    process.kill().unwrap();
    process.wait().unwrap();
    for line in lines {
        note(line);
    }
}

/// What is stored counts as acknowledged from now on.
async fn check(file: &Path, acknowledged: &mut BTreeMap<usize, u64>) {
    let store = SqliteStore::open(file).await.unwrap();
    store.integrity_check().await.unwrap();
    for number in 0..WRITERS {
        let conversation_id = ConversationId::new(format!("s{number}"));
        let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
        let Revision(revision) = loaded.revision;
        let answered = acknowledged.insert(number, revision).unwrap_or(0);
        // One batch may have been in flight.
        assert!(
            (answered..=answered + 1).contains(&revision),
            "{answered} was acknowledged, {revision} is stored"
        );
        let of = |kind| {
            loaded
                .records
                .iter()
                .filter(move |item| item.record.kind() == kind)
        };
        let halves: Vec<&str> = of(RecordKind::Memory)
            .map(|item| item.record.id())
            .collect();
        let mut promised: Vec<String> = (1..=revision).map(|n| format!("a-{n}")).collect();
        if revision > 0 {
            promised.insert(1, "last".to_owned());
        }
        assert_eq!(halves, promised);
        let lines: Vec<&str> = of(RecordKind::Ledger)
            .map(|item| item.record.id())
            .collect();
        let promised: Vec<String> = (1..=revision).map(|n| format!("b-{n}")).collect();
        assert_eq!(lines, promised);
        let places = loaded.records.iter().map(|item| item.position.0);
        let last = (revision > 0).then_some(2 * revision + 1);
        assert!(places.clone().is_sorted_by(|a, b| a < b) && places.max() == last);
        let counted = of(RecordKind::Memory).find(|item| item.record.id() == "last");
        let counted = counted.and_then(|item| item.record.clone().downcast::<Memory>());
        assert_eq!(
            counted.map_or(0, |item| item.text().parse().unwrap()),
            revision
        );
    }
    store.close().await.unwrap();
}

async fn kill_and_check(kills: u64) {
    let folder = Folder::new();
    let mut file = folder.file();
    let mut acknowledged = BTreeMap::new();
    let mut random = u64::from(std::process::id()) | 1;
    for kill in 0..kills {
        if kill.is_multiple_of(50) {
            // The amount to check grows with each kill.
            file = folder.path().join(format!("chat-{kill}.db"));
            acknowledged.clear();
        }
        let process = child::command("write until killed", &file).spawn().unwrap();
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        kill_after(process, (random >> 33) % 60, &mut acknowledged);
        check(&file, &mut acknowledged).await;
    }
}

#[tokio::test]
async fn acknowledged_batches_survive_a_kill_and_none_is_partial() {
    kill_and_check(20).await;
}

#[tokio::test]
#[ignore = "takes a minute"]
async fn acknowledged_batches_survive_two_hundred_kills() {
    kill_and_check(200).await;
}
