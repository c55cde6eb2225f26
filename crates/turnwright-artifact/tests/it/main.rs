//! Integration tests of artifacts, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

#[cfg(feature = "artifact-formats")]
mod jsonpath_cts;
mod text_differential;

/// Prints a message even if the test passes: writes to the stream directly, because output of the macros is captured.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
