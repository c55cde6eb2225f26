//! Tests of the contract fuzzer and the suites, with correct and incorrect tools and stores; and of the servers
//! and recordings, byte by byte.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "helper functions are test code too"
)]

#[cfg(feature = "cassette")]
mod cassette;
mod definitions;
mod documents;
mod random;
mod random_document;
#[cfg(feature = "server")]
mod server;
mod store;
mod typed;
mod violations;

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
        .description("Accepts what its document allows.")
        .handler(never)
        .build()
        .unwrap()
}

/// Prints a line that is shown for passing tests too. The test harness captures only the output of the macros.
pub(crate) fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Asserts that every keyword of the document got both kinds of values, except those listed.
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
