//! Filters the tools of a turn.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use crate::error::{BoxError, Error};
use crate::pipeline::{Middleware, Next};
use crate::tool::Tool;
use crate::tool::context::TurnContext;

/// The stash path under which each filter stores what it has hidden.
const HIDDEN: &str = "turnwright.tool_filter";

type Passes = Arc<dyn Fn(&TurnContext, &Tool) -> bool + Send + Sync>;

/// Middleware that removes or hides tools. See [`tool_filter`].
///
/// ```
/// use turnwright_core::middleware::tool_filter;
///
/// // The other tools can still be called, but take no tokens.
/// let filter = tool_filter(|tool| tool.meta().get("stage") == Some(&"published".into())).hide_only();
/// ```
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct ToolFilter {
    passes: Passes,
    hides: bool,
    /// Distinguishes this filter from other filters that hide tools.
    number: u64,
}

/// Removes the tools that do not pass, so that they cannot be called in this turn. Use it for authorisation. Add it to the turn
/// input after middleware that adds tools, or to the dispatch input, where it runs before each iteration. Other turns are not
/// affected.
///
/// With [`ToolFilter::hide_only`] the tools are only hidden from the model, and shown again once they pass. This saves tokens,
/// but the tools can still be called.
///
/// Artifact tools always pass.
///
/// ```
/// use turnwright_core::middleware::{tool_filter, tool_filter_in};
/// use turnwright_core::{DispatchContext, Effects, Tool, ToolContext, TurnContext};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let tool = |name: &str, effects| Tool::dynamic(name, json!({ "type": "object" })).description("…")
/// #     .effects(effects).handler(|_: Value, _: ToolContext| async { "ok" }).build();
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     let names: Vec<String> = ctx.tools().all().iter().map(|tool| tool.name().to_owned()).collect();
///     ctx.answer(names.join(", ")).await?;
///     Ok(())
/// })
/// .tools([tool("look", Effects::ReadOnly), tool("buy", Effects::Writes)])
/// .turn_input(tool_filter(|tool| tool.effects() == Effects::ReadOnly))
/// .build()?;
/// assert_eq!(runner.run("What can you do?").await.into_answer()?, "look");
///
/// // By metadata of the tool, and by data of the turn:
/// let published = tool_filter(|tool| tool.meta().get("stage") == Some(&json!("published")));
/// let allowed = tool_filter_in(|ctx: &TurnContext, tool: &Tool| {
///     let role = ctx.stash().get_as::<String>("user.role");
///     role.as_deref() == Some("admin") || tool.meta().get("admin").is_none()
/// });
/// # let _ = (published, allowed);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn tool_filter(passes: impl Fn(&Tool) -> bool + Send + Sync + 'static) -> ToolFilter {
    tool_filter_in(move |_: &TurnContext, tool: &Tool| passes(tool))
}

/// Like [`tool_filter`], with access to the turn.
pub fn tool_filter_in(
    passes: impl Fn(&TurnContext, &Tool) -> bool + Send + Sync + 'static,
) -> ToolFilter {
    static FILTERS: AtomicU64 = AtomicU64::new(0);
    ToolFilter {
        passes: Arc::new(passes),
        hides: false,
        number: FILTERS.fetch_add(1, Ordering::Relaxed),
    }
}

impl ToolFilter {
    /// Hides tools from the model instead of removing them; they can still be called. A tool hidden by this filter is shown again,
    /// after all others, when it passes. Tools hidden by others stay hidden.
    pub fn hide_only(mut self) -> Self {
        self.hides = true;
        self
    }

    fn apply(&self, turn: &TurnContext) -> Result<(), Error> {
        // Evaluate all tools before changing anything, so that a panic in the filter has no effect.
        let judge = |tool: Tool| {
            let passes = tool.is_artifact_tool() || (self.passes)(turn, &tool);
            (tool, passes)
        };
        let judged: Vec<(Tool, bool)> = turn.tools().all().into_iter().map(judge).collect();
        if self.hides {
            return self.hide(turn, &judged);
        }
        for (tool, _) in judged.iter().filter(|(_, passes)| !passes) {
            turn.tools().unregister(tool.name());
        }
        Ok(())
    }

    fn hide(&self, turn: &TurnContext, judged: &[(Tool, bool)]) -> Result<(), Error> {
        let at = format!("{HIDDEN}.{}", self.number);
        let before = turn.stash().get_as::<HashSet<String>>(&at);
        let before = before.unwrap_or_default();
        let mut hidden: Vec<&str> = Vec::new();
        for (tool, passes) in judged {
            let (name, ours) = (tool.name(), before.contains(tool.name()));
            if *passes && ours {
                turn.tools().reveal(name);
            } else if !passes && (ours || !turn.tools().is_hidden(name)) {
                turn.tools().hide(name);
                hidden.push(name);
            }
        }
        if before.is_empty() && hidden.is_empty() {
            Ok(())
        } else {
            turn.stash().set(&at, hidden).map(drop)
        }
    }
}

#[async_trait]
impl<C> Middleware<C> for ToolFilter
where
    C: AsRef<TurnContext> + Clone + Send + Sync + 'static,
{
    async fn handle(&self, ctx: C, next: Next<C>) -> Result<(), BoxError> {
        self.apply(ctx.as_ref())?;
        next.run().await
    }

    fn name(&self) -> &'static str {
        "tool_filter"
    }
}

debug_fields!(ToolFilter { hides });
