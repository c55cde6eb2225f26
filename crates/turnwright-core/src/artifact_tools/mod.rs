//! Query tools for the artifacts of a turn.
//!
//! An artifact tool is an ordinary tool with `callId` and `index` added to the query's arguments. Enumerated schemas
//! list the readable calls and change with them, which invalidates the prompt cache. Stable schemas accept any id and
//! check it externally.
//!
//! A tool result that is too large for the prompt becomes an artifact. The model reads it with tools such as `artifact_grep` and
//! `artifact_head`, which exist only while there are artifacts to read.
//!
//! ```
//! use serde_json::{Value, json};
//! use turnwright_core::artifact_tools::build_artifact_tools;
//! use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let report = Tool::dynamic("report", json!({ "type": "object" }))
//!     .description("Returns a long report.")
//!     .handler(|_: Value, _: ToolContext| async { "line\n".repeat(10_000) })
//!     .build()?;
//! let ctx = DispatchContext::builder().tools(ToolRegistry::new([report])?).build();
//! assert!(build_artifact_tools(ctx.turn())?.all().is_empty());
//!
//! ctx.call("report", "{}").await;
//! assert!(build_artifact_tools(ctx.turn())?.get("artifact_head").is_some());
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod readable;
mod tool;
mod tool_set;

#[cfg(test)]
mod tests;

pub use tool_set::build_artifact_tools;

pub use crate::tool::ArtifactToolPolicy;

pub(crate) use tool_set::{ArtifactToolSet, SharedArtifactTools};
