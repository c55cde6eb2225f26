//! What crosses the modules of this package, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

mod attempts;
mod calls;
mod cassettes;
mod faults;
mod fuzz;
mod generated;
mod media;
mod options;
mod prefix;
mod real_server;
mod recordings;
mod requests;
mod rng;
mod script;
mod state;
mod wire;

/// Says something that is to be seen of a test that passes too: straight to the stream, since what goes through the
/// macros is shown of failures only.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
