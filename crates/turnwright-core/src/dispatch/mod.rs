//! What an executor and its tools share.
//!
//! ```
//! use turnwright_core::DispatchContext;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
//!     ctx.answer("Hello!").await?;
//!     Ok(())
//! })
//! .build()?;
//! assert_eq!(runner.run("Hi").await.into_answer()?, "Hello!");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod builder;
mod executor;
mod reporter;

#[cfg(test)]
mod tests;

#[doc(no_inline)]
pub use crate::tool::context::Signal;
pub use crate::usage::{FinishReason, ModelRequest, ModelUsage};
pub use builder::DispatchContextBuilder;
pub use executor::Executor;
pub use reporter::{Reporter, TextWriter, ToolCallWriter};
