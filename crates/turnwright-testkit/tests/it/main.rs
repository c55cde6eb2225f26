//! The contract fuzzer and the suite for stores, on tools and stores that keep their word and on those that do not; the
//! servers and the recordings, byte by byte.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "functions beside the tests are tests too"
)]

#[cfg(feature = "cassette")]
mod cassette;
mod documents;
mod lying;
mod random;
mod random_document;
#[cfg(feature = "server")]
mod server;
mod store;
mod typed;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use turnwright_core::{Tool, ToolContext};
use turnwright_testkit::contract::Report;

/// How often any handler of these tests was run.
static HANDLED: AtomicUsize = AtomicUsize::new(0);

/// A handler that must never run.
pub(crate) async fn never(_args: Value, _ctx: ToolContext) -> String {
    HANDLED.fetch_add(1, Ordering::SeqCst);
    panic!("the fuzzer ran a handler")
}

pub(crate) fn tool(document: Value) -> Tool {
    Tool::dynamic("probe", document)
        .description("Takes what its document says.")
        .handler(never)
        .build()
        .unwrap()
}

/// Says something that is to be seen of a test that passes too: straight to the stream, since what goes through the
/// macros is shown of failures only.
#[cfg(feature = "cassette")]
pub(crate) fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Every keyword of the document got both, save those named.
pub(crate) fn assert_served(report: &Report, but: &[&str]) {
    assert!(report.is_ok(), "{report}");
    let unexpected: Vec<_> = report
        .skipped
        .iter()
        .filter(|skipped| !but.contains(&skipped.pointer.as_str()))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}\n{report}");
    for (keyword, count) in &report.per_keyword {
        assert!(
            but.iter()
                .any(|pointer| pointer.ends_with(&format!("/{keyword}")))
                || count.accepted > 0 && count.broken > 0,
            "{keyword}: {count:?}\n{report}"
        );
    }
    assert_eq!(HANDLED.load(Ordering::SeqCst), 0, "a handler was run");
}
