//! Which tools a turn has.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::Value;

use crate::error::{BoxError, Error};
use crate::pipeline::{Middleware, Next};
use crate::schema::admit;
use crate::tool::Tool;
use crate::tool::context::TurnContext;

/// Where the stash says what each filter has hidden.
const HIDDEN: &str = "turnwright.tool_filter";

type Passes = Arc<dyn Fn(&TurnContext, &Tool) -> bool + Send + Sync>;

/// Takes tools away from a turn, or hides them: see [`tool_filter`].
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct ToolFilter {
    passes: Passes,
    hides: bool,
    artifact_tools: bool,
    /// Tells this filter from others that hide.
    number: u64,
}

/// Takes away the tools that do not pass: in this turn nobody can call them. That is what authorisation needs. For the turn's
/// input, behind whatever brings tools, or for the dispatch's input, where it looks again before each iteration; no other
/// turn sees anything of it.
///
/// With [`ToolFilter::hide_only`] tools are only not shown to the model, and shown again once they pass. That saves it the
/// reading, and keeps nobody from calling them.
///
/// Tools that read artifacts pass, unless [`ToolFilter::artifact_tools_too`] is said.
///
/// ```
/// use turnwright_core::middleware::{tool_filter, tool_filter_by_meta, tool_filter_in};
/// use turnwright_core::{DispatchContext, Effects, Tool, ToolContext, TurnContext};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let tool = |name: &str, effects| Tool::dynamic(name, json!({ "type": "object" })).description("…")
/// #     .effects(effects).handler(|_: Value, _: ToolContext| async { "ok" }).build();
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     let names: Vec<String> = ctx.tools().all().iter().map(|it| it.name().to_owned()).collect();
///     ctx.answer(names.join(", ")).await?;
///     Ok(())
/// })
/// .tools([tool("look", Effects::ReadOnly), tool("buy", Effects::Writes)])
/// .turn_input(tool_filter(|tool| tool.effects() == Effects::ReadOnly))
/// .build()?;
/// assert_eq!(runner.run("What can you do?").await.into_answer()?, "look");
///
/// // By what the author said, and by what is known of the turn:
/// let published = tool_filter_by_meta("stage", "published");
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

/// [`tool_filter`] by what the author said: those tools pass whose meta has this value at this dot path, or an array there
/// that holds it. One of which nothing was said does not.
pub fn tool_filter_by_meta(path: impl Into<String>, value: impl Into<Value>) -> ToolFilter {
    // No tool has a value that is not admitted, so that none passes.
    let (path, value) = (path.into(), admit(value.into()).ok());
    tool_filter(move |tool| match (tool.meta().get(&path), &value) {
        (Some(Value::Array(items)), Some(value)) if items.contains(value) => true,
        (Some(there), Some(value)) => there == value,
        (None, _) | (_, None) => false,
    })
}

/// [`tool_filter`] by the tool and the turn that it would be used in.
pub fn tool_filter_in(
    passes: impl Fn(&TurnContext, &Tool) -> bool + Send + Sync + 'static,
) -> ToolFilter {
    static FILTERS: AtomicU64 = AtomicU64::new(0);
    ToolFilter {
        passes: Arc::new(passes),
        hides: false,
        artifact_tools: false,
        number: FILTERS.fetch_add(1, Ordering::Relaxed),
    }
}

impl ToolFilter {
    /// Does not take tools away: they are not shown to the model, and can still be called. What this filter hid is shown again
    /// when it passes; what others hid stays hidden.
    pub fn hide_only(mut self) -> Self {
        self.hides = true;
        self
    }

    /// Looks at tools that read artifacts too. They are there in the dispatch's input alone.
    pub fn artifact_tools_too(mut self) -> Self {
        self.artifact_tools = true;
        self
    }

    fn apply(&self, turn: &TurnContext) -> Result<(), Error> {
        // Everything is decided before anything is done: a filter that panics half way has done nothing.
        let judge = |tool: Tool| {
            let exempt = tool.is_artifact_tool() && !self.artifact_tools;
            let passes = exempt || (self.passes)(turn, &tool);
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
            match passes {
                true if ours => drop(turn.tools().unhide(name)),
                false if ours || !turn.tools().is_hidden(name) => {
                    turn.tools().hide(name);
                    hidden.push(name);
                }
                true | false => {}
            }
        }
        match before.is_empty() && hidden.is_empty() {
            true => Ok(()),
            false => turn.stash().set(&at, hidden).map(drop),
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
