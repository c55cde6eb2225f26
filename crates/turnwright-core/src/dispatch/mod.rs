//! What an executor and its tools share.

mod builder;
mod executor;
mod reporter;
mod tool_call_writer;

#[cfg(test)]
mod tests;

pub use builder::DispatchContextBuilder;
pub use executor::Executor;
pub use reporter::{MessageWriter, Reporter, ThoughtWriter};
pub use tool_call_writer::ToolCallWriter;
