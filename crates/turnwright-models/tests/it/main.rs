//! What crosses modules: turns against scripted servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod attempts;
mod calls;
mod media;
mod options;
mod prefix;
mod script;
mod state;
