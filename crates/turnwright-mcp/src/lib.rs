//! The Model Context Protocol (MCP) for Turnwright: tools of MCP servers as ordinary tools, with definitions that cannot change
//! unnoticed.

mod client;
mod definition;
mod limits;
mod pin;
pub mod process;
mod protocol;

pub use client::{Mcp, McpExt, McpServer, ServerState, ServerStatus, Withheld};
pub use definition::{Definition, shown};
pub use limits::Limits;
pub use pin::{Change, Difference, LockFile, LockFileError, LockedServer, LockedTool, Pinning};
