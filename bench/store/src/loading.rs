//! Loading a conversation.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use serde_json::Value;
use turnwright_bench_measure::Subject;
use turnwright_core::store::{ConversationId, Query, Store as _};
use turnwright_sqlite::SqliteStore;

use crate::bare::Bare;
use crate::folder::Folder;
use crate::runner::{conversation, runtime};

pub(crate) const SECTION: &str = "a record of a loaded conversation";

/// The number of records, and the labels of the measurements.
pub(crate) const COUNTS: [(usize, [&str; 3]); 2] = [
    (
        1_000,
        [
            "bare: SELECT, 1,000 records",
            "bare: SELECT and parse each text, 1,000 records",
            "store: load, 1,000 records",
        ],
    ),
    (
        10_000,
        [
            "bare: SELECT, 10,000 records",
            "bare: SELECT and parse each text, 10,000 records",
            "store: load, 10,000 records",
        ],
    ),
];

pub(crate) fn subjects(folder: &Folder) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    let mut subjects = Vec::new();
    for (records, [select, parse, load]) in COUNTS {
        let (runtime, file) = (runtime(), folder.file(&format!("loading-{records}")));
        let (store, conversation_id) = (
            runtime.block_on(SqliteStore::open(&file))?,
            ConversationId::new("chat"),
        );
        let batches = conversation(records)?;
        let count = runtime.block_on(async {
            for batch in batches {
                store.apply(&conversation_id, batch).await?;
            }
            let loaded = store.load(&conversation_id, &Query::all()).await?;
            Ok::<_, Box<dyn Error>>(loaded.records.len())
        })?;
        assert_eq!(count, records, "the label says how many");
        let pieces = count as u64;
        let bare = Bare::open(&file)?;
        subjects.push(
            Subject::new(SECTION, select, move |times| {
                let start = Instant::now();
                for _ in 0..times {
                    let mut rows = Vec::new();
                    let read =
                        bare.select("chat", |place, body| rows.push((place, body.to_owned())));
                    read.expect("rows can be read");
                    assert_eq!(rows.len(), count);
                    black_box(rows);
                }
                start.elapsed()
            })
            .of_pieces(pieces),
        );
        let bare = Bare::open(&file)?;
        subjects.push(
            Subject::new(SECTION, parse, move |times| {
                let start = Instant::now();
                for _ in 0..times {
                    let mut rows: Vec<(i64, Value)> = Vec::new();
                    let read = bare.select("chat", |place, body| {
                        let value = serde_json::from_str(body).expect("it was JSON");
                        rows.push((place, value));
                    });
                    read.expect("rows can be read");
                    black_box(rows);
                }
                start.elapsed()
            })
            .of_pieces(pieces),
        );
        subjects.push(
            Subject::new(SECTION, load, move |times| {
                let start = Instant::now();
                runtime.block_on(async {
                    for _ in 0..times {
                        let loaded = store.load(&conversation_id, &Query::all()).await;
                        let loaded = loaded.expect("records can be loaded");
                        assert_eq!(loaded.records.len(), count);
                        black_box(loaded);
                    }
                });
                start.elapsed()
            })
            .of_pieces(pieces),
        );
    }
    Ok(subjects)
}
