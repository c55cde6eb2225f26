//! What happened, as it is kept.

mod tool_call;

pub use tool_call::{SpooledResult, ToolCall, ToolResults};
