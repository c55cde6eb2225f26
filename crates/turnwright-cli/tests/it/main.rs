//! The program, as its users meet it: run as a process, with and without a terminal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[cfg(unix)]
mod chat;
mod model;
mod program;
#[cfg(unix)]
mod pty;
mod screens;
