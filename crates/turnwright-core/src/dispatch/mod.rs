//! What an executor and its tools share.

mod builder;
mod executor;
mod reporter;
mod text_writer;

#[cfg(test)]
mod tests;

pub use builder::DispatchContextBuilder;
pub use executor::Executor;
pub use reporter::Reporter;
pub use text_writer::{MessageWriter, TextWriter, ThoughtWriter};
