//! Integration tests of this package, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may panic"
)]

mod aimock;
mod anthropic;
mod attempts;
mod calls;
mod cassettes;
mod conformance;
mod fallback;
mod faults;
mod finish_reasons;
mod fuzz;
mod generated;
mod media;
mod options;
mod prefix;
mod provider_tools;
mod real_server;
mod recordings;
mod requests;
mod responses;
mod rng;
mod script;
mod state;
mod think_tags;
mod typed_answers;
mod wire;
mod wrong_setup;

/// Returns the base URL of a protocol at a server that serves all of them.
fn base_url(protocol: turnwright_models::Protocol, url: &str) -> String {
    let path = match protocol {
        turnwright_models::Protocol::Gemini => "/v1beta",
        turnwright_models::Protocol::Ollama => "",
        _ => "/v1",
    };
    format!("{url}{path}")
}

/// Prints a line that is shown for passing tests too. The test harness captures only the output of the macros.
fn say(text: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
