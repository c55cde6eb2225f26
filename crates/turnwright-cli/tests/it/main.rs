//! The program as a process, with and without a terminal.
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
mod doctor;
mod folder;
mod man;
mod mcp;
mod mcp_server;
mod model;
mod new;
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

/// Prints a note that is shown for a passing test too: directly to the stream, because the output of the macros is only shown
/// for failures.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
