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
mod compact;
mod fetch_tools;
mod find_tools;
mod repeated_call_guard;
mod tool_filter;

#[cfg(test)]
mod tests;

pub use audit::{Audit, AuditSink, AuditedCall, audit};
pub use compact::{Compact, Summariser, SummaryRequest, compact};
pub use fetch_tools::{FetchTools, fetch_tools};
pub use find_tools::{FindTools, find_tools};
pub use repeated_call_guard::{RepeatedCallGuard, repeated_call_guard};
pub use tool_filter::{ToolFilter, tool_filter, tool_filter_in};

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;

use crate::artifact::text::TokenCount;
use crate::tool::Tool;

/// The tokens of definitions of tools. Each one is counted once.
#[derive(Default)]
struct ToolTokens(HashMap<Arc<str>, (Tool, u64), RandomState>);

impl ToolTokens {
    /// Returns the tokens of these tools, with the encoding of a model.
    fn of(&mut self, tools: &[Tool], model: &str) -> u64 {
        let tokens = tools.iter().map(|tool| {
            let counted = self.0.get(tool.name());
            if let Some((_, tokens)) = counted.filter(|(other, _)| other.is_same(tool)) {
                return *tokens;
            }
            // A description is always valid JSON.
            let text = serde_json::to_string(&tool.describe()).unwrap_or_default();
            let tokens = TokenCount::of_text(&text, model).tokens;
            let counted = (tool.clone(), tokens);
            self.0.insert(Arc::clone(tool.shared_name()), counted);
            tokens
        });
        tokens.sum()
    }
}
