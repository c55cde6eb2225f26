//! Test your tools and your stores.
//!
//! [`contract::fuzz`] proves, without running a handler, that a tool takes what its published schema promises and
//! refuses the rest:
//!
//! ```
//! use serde_json::json;
//! use turnwright_core::{Tool, ToolContext};
//!
//! let tool = Tool::dynamic("greet", json!({
//!     "type": "object",
//!     "properties": { "name": { "type": "string", "minLength": 1 } },
//!     "required": ["name"],
//!     "additionalProperties": false,
//! }))
//! .description("Says hello.")
//! .handler(|args: serde_json::Value, _ctx: ToolContext| async move { format!("Hello {}!", args["name"]) })
//! .build()?;
//!
//! let report = turnwright_testkit::contract::fuzz(&tool);
//! assert!(report.accepted > 0 && report.broken > 0);
//! # Ok::<(), turnwright_core::Error>(())
//! ```
//!
//! [`store::conformance`] does the same for a store of your own; [`store::FailingStore`] fails on purpose.
//!
//! [`script::ScriptedModel`] plays a model, and tells what it was shown. [`reader::TestReader`] stands in for an object store: it counts what is read, and fails on request.
//!
//! With the feature `server` there are HTTP servers on loopback, for clients in any language: a model by a script
//! (`server::chat`), and every fault that a model server may have (`server::fault`). With the feature `cassette`
//! conversations with real model servers are recorded once, without their secrets, and played again (`cassette`).

#[cfg(feature = "cassette")]
pub mod cassette;
pub mod contract;
mod pointer;
mod random;
pub mod reader;
pub mod script;
#[cfg(feature = "server")]
pub mod server;
pub mod store;
