//! The names that nearly every file of an agent needs: `use turnwright::prelude::*;`.
//!
//! General names such as `Error`, `Event`, `Json`, `Message` or `State` are not here, so that they do not collide with those of
//! other crates. Import them from the crate's root. `SqliteStorage`, the trait that adds
//! `Storage::sqlite`, has no name here, so that it is not taken for a type.

#[cfg(feature = "mcp")]
pub use crate::mcp::{McpExt as _, McpServer};
#[cfg(feature = "sqlite")]
pub use crate::sqlite::SqliteStorage as _;
pub use crate::store::StoreExt;
#[cfg(feature = "models")]
pub use crate::{Anthropic, ChatCompletions, Gemini, Ollama, Responses};
pub use crate::{
    BoxError, Conversation, DispatchContext, History, Storage, Tool, ToolContext, ToolError,
    ToolOutput, ToolRegistry, TurnContext, TurnEventKind, TurnInput, TurnOutcome, TurnRunner,
    TurnStatus,
};
#[cfg(feature = "macros")]
pub use turnwright_macros::tool;
