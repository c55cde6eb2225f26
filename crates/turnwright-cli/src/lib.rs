//! The program `turnwright` as a library: embed it in your own program to get all of its commands with your own tools.
//!
//! ```no_run
//! use turnwright::prelude::*;
//!
//! /// Weather forecast for a city.
//! #[tool(effects = "read_only")]
//! async fn forecast(city: &str) -> String {
//!     format!("sunny in {city}")
//! }
//!
//! // `cargo run -- tools call forecast '{"city": "Paris"}'`, `cargo run -- tools fuzz`, `cargo run -- chat`
//! fn main() -> std::process::ExitCode {
//!     turnwright_cli::Program::new().tool(forecast()).main()
//! }
//! ```

mod agent;
mod args;
mod chat;
mod demo;
mod doctor;
mod exit;
mod extensions;
mod man;
mod mcp;
mod mcp_servers;
mod models;
mod new;
mod program;
mod schema;
mod serve;
mod show;
mod storage;
mod terminal;
mod text;
mod toolbox;
mod tools;
mod turn_state;
mod turns;
mod units;
mod wire;

pub use program::Program;

/// The book's page on the program; its examples are compiled as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/program.md")]
struct Page;
