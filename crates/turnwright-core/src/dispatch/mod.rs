//! What an executor and its tools share.

mod builder;
mod executor;
mod reporter;

#[cfg(test)]
mod tests;

pub use builder::DispatchContextBuilder;
pub use executor::Executor;
pub use reporter::{MessageWriter, Reporter, ThoughtWriter};
