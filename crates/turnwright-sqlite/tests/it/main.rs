//! Integration tests of the store, in one binary.
//!
//! Two tests have a short version here and a long version that runs with
//!
//! ```text
//! scripts/long-tests.sh
//! ```
//!
//! In the long versions two processes write one file for a minute, and a writing process is killed two hundred times.
//! To run only one of them, pass `--ignored` and `for_a_minute` or `two_hundred` to `cargo test -p turnwright-sqlite --test it --`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may panic"
)]

mod artifact_kinds;
mod batches;
mod child;
mod compaction;
mod concurrent_open;
mod conformance;
mod crash;
mod damage;
mod deletion;
mod folder;
mod full;
mod loading;
mod locks;
mod model;
mod names;
mod no_room;
mod opening;
mod orphans;
mod processes;
mod restart;
mod retention;
mod storage;
mod suspended;
mod turns;

use turnwright_core::record::{ByteResolver, Memory, Record, RecordKind};
use turnwright_core::store::StoreError;
use turnwright_sqlite::{SqliteError, SqliteErrorKind};

/// Returns a short record.
fn note(id: &str, text: &str) -> Record {
    Memory::new(text).id(id).build().unwrap().into()
}

/// Returns a ledger entry.
fn line(id: &str, state: &str) -> Record {
    let mut value = serde_json::json!({
        "v": 1, "kind": "ledger", "id": id, "turnId": "t", "toolCall": "c", "checksum": "c", "tool": "pay",
        "fingerprint": "f", "args": "{}", "state": state, "startedAt": "2026-01-01T00:00:00Z",
    });
    if state != "started" {
        value["endedAt"] = "2026-01-01T00:00:01Z".into();
    }
    let nothing = ByteResolver::new(std::sync::Arc::new(
        turnwright_core::spool::MemorySpool::default(),
    ));
    Record::from_value(RecordKind::Ledger, &value, &nothing).unwrap()
}

fn kind(error: &StoreError) -> SqliteErrorKind {
    match SqliteError::of(error) {
        Some(error) => error.kind(),
        None => panic!("not a database error: {error}"),
    }
}

/// Prints a line that is shown for passing tests too. The test harness captures only the output of the macros.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
