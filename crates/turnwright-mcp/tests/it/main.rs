//! Tests across modules, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

#[cfg(feature = "serve")]
mod serve;
