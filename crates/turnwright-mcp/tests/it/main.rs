//! Tests across modules, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

mod client;
mod connection;
mod hostile;
mod input;
mod killed;
mod lifecycle;
mod oauth;
mod offer;
mod pins;
mod questions;
mod real;
mod resources;
#[cfg(feature = "serve")]
mod serve;
mod server;
