//! The program, as its users meet it: run as a process, with and without a terminal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[cfg(unix)]
mod chat;
mod completions;
mod demo;
mod folder;
mod model;
mod program;
#[cfg(unix)]
mod pty;
mod schema;
mod screens;
mod serve;
mod stored;
mod tools;
#[cfg(unix)]
mod turns;
mod wire;

/// Says something that is to be seen of a test that passes too: straight to the stream, since what goes through the
/// macros is shown of failures only.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
