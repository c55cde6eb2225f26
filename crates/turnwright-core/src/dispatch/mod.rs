//! What an executor and its tools share.

mod builder;
mod context;
mod executor;
mod reporter;
mod signal;

#[cfg(test)]
mod tests;

pub use builder::DispatchContextBuilder;
pub use context::{DispatchContext, WeakDispatchContext};
pub use executor::Executor;
pub use reporter::{MessageWriter, Reporter, ThoughtWriter};
pub use signal::{AckGuard, Signal};
