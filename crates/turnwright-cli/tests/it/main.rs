//! The program, as its users meet it: run as a process, with and without a terminal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod program;
mod tools;
