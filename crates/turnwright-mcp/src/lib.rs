//! The Model Context Protocol (MCP) for Turnwright: tools of MCP servers as ordinary tools, with definitions that cannot change
//! unnoticed.

mod definition;
mod limits;
pub mod process;
mod protocol;
#[cfg(feature = "serve")]
pub mod serve;

pub use limits::Limits;
#[cfg(feature = "serve")]
pub use serve::McpService;
