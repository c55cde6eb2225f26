//! What most files that define or run tools need: `use turnwright::prelude::*;`.

pub use crate::{
    DispatchContext, Error, Json, Schema, Tool, ToolContext, ToolError, ToolOutput, ToolRegistry,
};
// The attribute alone: `crate::tool` is also a module, which would hide one of the user's.
#[cfg(feature = "macros")]
pub use turnwright_macros::tool;
