//! Middleware that is ready made.
//!
//! | | stands in | does |
//! | --- | --- | --- |
//! | [`fetch_tools`] | turn input | brings tools that are known only now |
//! | [`tool_filter`] | turn or dispatch input | takes tools away, or hides them |
//! | [`audit`] | turn input | tells of each call once, however the turn ends |
//! | [`repeated_call_guard`] | dispatch input | ends a turn that makes the same call again and again |
//!
//! Limits of tokens, tool calls and time are a [`Budget`](crate::Budget) of the runner or the turn.
//!
//! One value serves any number of turns at once: what it must remember of a turn is in that turn's stash, below `turnwright`,
//! or is read from its records.
//!
//! ```
//! use turnwright_core::middleware::repeated_call_guard;
//! use turnwright_core::DispatchContext;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
//!     ctx.answer("Done.").await?;
//!     Ok(())
//! })
//! .dispatch_input(repeated_call_guard(3))
//! .build()?;
//! assert_eq!(runner.run("Begin!").await.into_answer()?, "Done.");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod audit;
mod audited_call;
mod fetch_tools;
mod repeated_call_guard;
mod tool_filter;

#[cfg(test)]
mod tests;

pub use audit::{Audit, AuditSink, audit};
pub use audited_call::AuditedCall;
pub use fetch_tools::{FetchTools, fetch_tools};
pub use repeated_call_guard::{RepeatedCallGuard, repeated_call_guard};
pub use tool_filter::{ToolFilter, tool_filter, tool_filter_by_meta, tool_filter_in};
