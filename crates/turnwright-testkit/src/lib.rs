//! Test utilities for tools, models and stores.
//!
//! [`contract::fuzz`] checks, without running a handler, that a tool accepts what its published schema allows and
//! rejects everything else:
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
//! [`store::conformance`] tests your own store implementation; [`store::FailingStore`] fails on purpose.
//!
//! [`script::ScriptedModel`] is a scripted model that records what it was shown. [`reader::TestReader`] replaces an
//! object store: it counts reads, and fails on request.
//!
//! The `server` feature adds HTTP servers on loopback, for clients in any language: a scripted model
//! (`server::model`), and every fault that a model server may have (`server::fault`). The `cassette` feature records
//! conversations with real model servers, without their secrets, and replays them (`cassette`).

#[cfg(feature = "cassette")]
pub mod cassette;
pub mod contract;
mod pointer;
pub mod reader;
pub mod script;
#[cfg(feature = "server")]
pub mod server;
pub mod store;
