//! Integration tests of MCP.

mod client;
mod hostile;
mod pins;
mod real;
mod server;
