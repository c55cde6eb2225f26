//! The Model Context Protocol (MCP) for Turnwright: tools of MCP servers as ordinary tools, with definitions that cannot change
//! unnoticed.

mod client;
mod definition;
mod limits;
mod oauth;
mod pin;
pub mod process;
mod protocol;
#[cfg(feature = "serve")]
pub mod serve;

pub use client::{Mcp, McpExt, McpServer, ServerState, ServerStatus, Withheld};
pub use definition::{Definition, shown};
pub use limits::Limits;
pub use oauth::{AuthorizationPrompt, OAuth, TokenStore};
pub use pin::{Change, Difference, LockFile, LockFileError, LockedServer, LockedTool, Pinning};
#[cfg(feature = "serve")]
pub use serve::McpService;
