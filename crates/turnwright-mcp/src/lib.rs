//! The Model Context Protocol (MCP) for Turnwright: tools of MCP servers as ordinary tools, with definitions that cannot change
//! unnoticed.

mod definition;
mod limits;
pub mod process;
mod protocol;

pub use limits::Limits;
