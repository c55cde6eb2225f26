//! The Model Context Protocol (MCP) for Turnwright: tools of MCP servers as ordinary tools, with definitions that cannot change
//! unnoticed, and a server for your own tools.
//!
//! ```
//! use turnwright_core::DispatchContext;
//! use turnwright_core::tool::approval::before_writes;
//! use turnwright_mcp::{McpExt as _, McpServer};
//!
//! # let model = |_: DispatchContext| async { Ok(()) };
//! let files = McpServer::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "/data"]).alias("files");
//! let search = McpServer::http("https://example.com/mcp").alias("search").bearer("token").optional();
//! let runner = turnwright_core::runner(model)
//!     .mcp([files, search])
//!     .policy(before_writes("it may change something"))
//!     .build()?;
//! # Ok::<(), turnwright_core::Error>(())
//! ```
//!
//! | to | use |
//! | --- | --- |
//! | give the tools of servers to turns | [`McpServer`], [`McpExt::mcp`], [`Limits`] |
//! | look at servers, read resources, get prompts | [`Mcp`] |
//! | accept definitions | [`Pinning`], [`LockFile`], [`Difference`] |
//! | log in | [`OAuth`], [`TokenStore`] |
//! | let a server use your model | [`McpServer::sampling`], [`SamplingRequest`] |
//! | serve your own tools | `McpService` (feature `serve`) |

mod client;
mod definition;
mod limits;
mod oauth;
mod pin;
#[doc(hidden)]
pub mod process;
mod protocol;
#[cfg(feature = "serve")]
pub mod serve;

pub use client::{
    Mcp, McpExt, McpServer, SamplingAnswer, SamplingRequest, ServerState, ServerStatus, Withheld,
    WithheldKind,
};
#[doc(hidden)]
pub use definition::{display_name, display_text, exposed_name};
pub use limits::Limits;
pub use oauth::{AuthorizationPrompt, OAuth, TokenStore};
pub use pin::{Change, Difference, LockFile, LockFileError, LockedServer, LockedTool, Pinning};
#[cfg(feature = "serve")]
pub use serve::McpService;
