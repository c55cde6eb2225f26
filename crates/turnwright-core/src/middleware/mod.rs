//! Middleware that is ready made.
//!
//! | | stands in | does |
//! | --- | --- | --- |
//! | [`hydrate`] | turn input | loads what was before |
//! | [`fetch_tools`] | turn input | brings tools that are known only now |
//! | [`tool_filter`] | turn or dispatch input | takes tools away, or hides them |
//! | [`audit`] | turn input | tells of each call once, however the turn ends |
//! | [`iteration_limit`] | dispatch input | ends a turn that takes too many steps |
//! | [`token_budget`] | dispatch input | ends a turn that used too many tokens |
//! | [`repeated_call_guard`] | dispatch input | ends a turn that makes the same call again and again |
//!
//! One value serves any number of turns at once: what it must remember of a turn is in that turn's stash, below `turnwright`,
//! or is read from its records.
//!
//! ```
//! use turnwright_core::middleware::{hydrate, iteration_limit, repeated_call_guard, token_budget};
//! use turnwright_core::{DispatchContext, TurnRunner};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
//!     ctx.answer("Done.").await?;
//!     Ok(())
//! })
//! .turn_input(hydrate().last(20))
//! .dispatch_input(iteration_limit(12))
//! .dispatch_input(token_budget(200_000))
//! .dispatch_input(repeated_call_guard(3))
//! .build()?;
//! assert_eq!(runner.run("Begin!").await.into_answer()?, "Done.");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod audit;
mod audited_call;
mod fetch_tools;
mod hydrate;
mod iteration_limit;
mod pages;
mod repeated_call_guard;
mod token_budget;
mod tool_filter;

#[cfg(test)]
mod tests;

pub use audit::{Audit, AuditSink, audit};
pub use audited_call::AuditedCall;
pub use fetch_tools::{FetchTools, fetch_tools};
pub use hydrate::{Hydrate, hydrate};
pub use iteration_limit::{IterationLimit, iteration_limit};
pub use repeated_call_guard::{RepeatedCallGuard, repeated_call_guard};
pub use token_budget::{TokenBudget, token_budget};
pub use tool_filter::{ToolFilter, tool_filter, tool_filter_by_meta, tool_filter_in};
