//! What an executor and its tools share.

mod builder;
mod executor;
mod reporter;
mod text_writer;
mod tool_call_writer;

#[cfg(test)]
mod tests;

pub use crate::usage::{FinishReason, ModelUsage};
pub use builder::DispatchContextBuilder;
pub use executor::Executor;
pub use reporter::Reporter;
pub use text_writer::TextWriter;
pub use tool_call_writer::ToolCallWriter;
