//! Integration tests of MCP.

mod client;
mod hostile;
mod oauth;
mod pins;
mod real;
mod server;
