//! One dispatch: what an executor and the tools that it runs share.

mod context;
mod records;
mod signal;

#[cfg(test)]
mod tests;

pub use context::{DispatchContext, DispatchContextBuilder, WeakDispatchContext};
pub use signal::{AckGuard, Signal};
