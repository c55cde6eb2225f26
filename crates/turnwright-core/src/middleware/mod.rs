//! Ready-made middleware.
//!
//! | middleware | position | purpose |
//! | --- | --- | --- |
//! | [`fetch_tools`] | turn input | adds tools that are known only at the start of a turn |
//! | [`tool_filter`] | turn or dispatch input | removes or hides tools |
//! | [`find_tools`] | dispatch input | hides tools behind a search if there are too many |
//! | [`audit`] | turn input | reports each call once, however the turn ends |
//! | [`repeated_call_guard`] | dispatch input | ends a turn that repeats the same call |
//! | [`compact()`] | dispatch input | keeps prompts within the context window |
//!
//! To limit tokens, tool calls and time, set a [`Budget`](crate::Budget) on the runner or the turn.
//!
//! One middleware value can be used by any number of concurrent turns: state of a turn is in the stash of that turn, below
//! `turnwright`, or is read from its records.
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
mod compact;
mod fetch_tools;
mod find_tools;
mod repeated_call_guard;
mod tool_filter;

#[cfg(test)]
mod tests;

pub use audit::{Audit, AuditSink, audit};
pub use audited_call::AuditedCall;
pub use compact::{Compact, Summariser, SummaryRequest, compact};
pub use fetch_tools::{FetchTools, fetch_tools};
pub use find_tools::{FindTools, find_tools};
pub use repeated_call_guard::{RepeatedCallGuard, repeated_call_guard};
pub use tool_filter::{ToolFilter, tool_filter, tool_filter_by_meta, tool_filter_in};
