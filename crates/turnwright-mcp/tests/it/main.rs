//! Integration tests of MCP.

mod client;
mod oauth;
mod pins;
mod real;
mod server;
