//! Integration tests of MCP.

mod client;
mod pins;
mod real;
mod server;
