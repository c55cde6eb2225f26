//! Integration tests of schemas, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may panic"
)]

mod differential;
mod foreign;
mod schema_suite;

/// Prints a line that is shown for passing tests too. The test harness captures only the output of the macros.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Returns the folder of the vectors, which are read and not copied.
fn vectors() -> std::path::PathBuf {
    std::env::var_os("TURNWRIGHT_VECTORS").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        std::path::PathBuf::from,
    )
}
