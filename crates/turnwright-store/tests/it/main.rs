//! What the store promises, in one binary.
//!
//! Two tests are short here and long by
//!
//! ```text
//! cargo test -p turnwright-store --test it -- --ignored --nocapture
//! ```
//!
//! which has two processes write one file for a minute, and kills one two hundred times while it writes. Give a name behind
//! `--ignored` for one of both: `for_a_minute`, `two_hundred`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

mod batches;
mod child;
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
mod processes;
mod restart;
mod retention;
mod storage;
mod suspended;
mod sweeping;
mod together;
mod turns;
mod upgrade;

use turnwright_core::record::{ByteResolver, Memory, Record, RecordKind};
use turnwright_core::store::StoreError;
use turnwright_store::sqlite::{SqliteError, SqliteErrorKind};

/// A short record.
fn note(id: &str, text: &str) -> Record {
    Memory::new(text).id(id).build().unwrap().into()
}

/// A line of the ledger.
fn line(id: &str, state: &str) -> Record {
    let mut value = serde_json::json!({
        "v": 1, "kind": "ledger", "id": id, "turnId": "t", "toolCall": "c", "callId": "c", "tool": "pay",
        "fingerprint": "f", "args": "{}", "state": state, "begunAt": "2026-01-01T00:00:00Z",
    });
    if state != "begun" {
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
        None => panic!("no error of a database: {error}"),
    }
}

/// Says something that is to be seen of a test that passes too: straight to the stream, since what goes through the
/// macros is shown of failures only.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
