//! The client: tools of MCP servers in the turns of a runner.

mod call;
mod connection;
mod exchange;
mod filter;
mod gate;
mod mcp;
mod middleware;
mod pages;
mod prompts;
mod ready;
mod resources;
mod result;
mod sampling;
mod server;
mod status;
mod supervisor;

pub use mcp::{Mcp, McpExt};
pub use sampling::{SamplingAnswer, SamplingRequest};
pub use server::McpServer;
pub use status::{ServerState, ServerStatus, Withheld, WithheldKind};
