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

/// Returns a client for servers on this machine. The environment may name a proxy.
fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .tls_backend_preconfigured(turnwright_models::http::tls_config().unwrap())
        .no_proxy()
        .build()
        .unwrap()
}
