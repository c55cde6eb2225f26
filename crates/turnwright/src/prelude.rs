//! The names that nearly every file of an agent needs: `use turnwright::prelude::*;`.
//!
//! General names such as `Error`, `Event` or `Message` are not here: import them from the crate's root.

#[cfg(feature = "chat-completions")]
pub use crate::ChatCompletions;
pub use crate::approval::before_writes;
#[cfg(feature = "sqlite")]
pub use crate::sqlite::SqliteStorage;
pub use crate::{
    Approver, BoxError, Conversation, DispatchContext, Executor, History, Json, Storage, StoreExt,
    Tool, ToolContext, ToolError, ToolOutput, ToolRegistry, TurnContext, TurnEventKind, TurnInput,
    TurnOutcome, TurnRunner, TurnStatus, async_trait,
};
// The attribute alone: `crate::tool` is also a module, which would hide one of the user's.
#[cfg(feature = "macros")]
pub use turnwright_macros::tool;
