//! Integration tests of the core, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

#[cfg(feature = "artifact-formats")]
mod bad_queries;
mod compact;
mod envelopes;
mod exfiltration;
mod find_tools;
mod model_texts;
mod telemetry;
mod turn;
mod turn_property;
mod values;

/// Prints a message even if the test passes: writes to the stream directly, because output of the macros is captured.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
