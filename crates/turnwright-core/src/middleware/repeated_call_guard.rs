//! Not the same call for ever.

use std::sync::Arc;

use async_trait::async_trait;
use indexmap::IndexMap;
use serde_json::Value;

use crate::call::shown_name;
use crate::error::{BoxError, Error};
use crate::outcome::Limit;
use crate::pipeline::{Middleware, Next};
use crate::record::{Message, ToolCall};
use crate::schema::escape;
use crate::tool::Tool;
use crate::tool::context::DispatchContext;

/// Where the stash says how often a call had been made when the model was told of it, by checksum.
const TOLD: &str = "turnwright.repeated_call_guard";

type MayRepeat = Arc<dyn Fn(&Tool) -> bool + Send + Sync>;

/// Ends a turn that makes the same call again and again: see [`repeated_call_guard`].
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct RepeatedCallGuard {
    times: u32,
    tells: bool,
    may_repeat: Option<MayRepeat>,
}

/// Looks for the same call, made `times` times in this turn: the same tool with the same arguments, whatever came of it. The
/// model is told first; if it makes that call once more, the turn ends with [`Limit::RepeatedCall`]. For the dispatch's
/// input. Calls of earlier turns do not count, nor do those that were never made.
///
/// A tool that is there to be asked again, such as one that looks whether a job is done, says so by the meta
/// `repeatable: true`, or is named by [`RepeatedCallGuard::except`].
///
/// ```
/// use turnwright_core::middleware::repeated_call_guard;
/// use turnwright_core::{DispatchContext, TurnStatus};
/// use turnwright_core::runner::Limit;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.call("is_it_done", "{}").await;
///     Ok(())
/// })
/// .dispatch_input(repeated_call_guard(3))
/// .build()?;
/// let outcome = runner.run("Wait for it.").await;
/// assert_eq!(outcome.tool_calls().count(), 4);
/// assert!(matches!(outcome.ended, TurnStatus::Limit(Limit::RepeatedCall { times: 4, .. })));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn repeated_call_guard(times: u32) -> RepeatedCallGuard {
    RepeatedCallGuard {
        times: times.max(1),
        tells: true,
        may_repeat: None,
    }
}

impl RepeatedCallGuard {
    /// Ends the turn without telling the model first.
    pub fn without_telling(mut self) -> Self {
        self.tells = false;
        self
    }

    /// Lets these tools be called again and again, besides those whose meta says so.
    pub fn except(mut self, may_repeat: impl Fn(&Tool) -> bool + Send + Sync + 'static) -> Self {
        self.may_repeat = Some(Arc::new(may_repeat));
        self
    }

    fn exempts(&self, tool: &Tool) -> bool {
        tool.meta().get("repeatable") == Some(&Value::Bool(true))
            || self.may_repeat.as_ref().is_some_and(|may| may(tool))
    }

    /// The calls that were made too often, with how often, in the order in which they were first made.
    fn repeated(&self, ctx: &DispatchContext) -> Vec<(Arc<ToolCall>, u32)> {
        let mut counts: IndexMap<String, (Arc<ToolCall>, u32)> = IndexMap::new();
        for call in ctx.records().own_tool_calls() {
            if call.is_complete() {
                let count = counts.entry(call.checksum().to_owned());
                count.or_insert((call, 0)).1 += 1;
            }
        }
        let often = counts.into_values().filter(|(_, n)| *n >= self.times);
        often
            .filter(|(call, _)| {
                let tool = ctx.tools().get(call.tool());
                !tool.is_some_and(|tool| self.exempts(&tool))
            })
            .collect()
    }
}

/// Tells the model, and notes that it was told.
async fn tell(ctx: &DispatchContext, call: &ToolCall, times: u32, at: &str) -> Result<(), Error> {
    let text = format!(
        "You have called \"{}\" {times} times in this turn with the same arguments. Do not make this call again: use what you \
         have, try something else, or answer.",
        shown_name(call.tool()),
    );
    ctx.records()
        .store(Message::framework(text).build()?)
        .await?;
    ctx.stash().set(at, times).map(drop)
}

#[async_trait]
impl Middleware<DispatchContext> for RepeatedCallGuard {
    async fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> Result<(), BoxError> {
        for (call, times) in self.repeated(&ctx) {
            let at = format!("{TOLD}.{}", call.checksum());
            match ctx.stash().get_as::<u32>(&at) {
                None if self.tells => tell(&ctx, &call, times, &at).await?,
                Some(reported) if times <= reported => {}
                None | Some(_) => {
                    let tool = escape(call.tool(), 80);
                    ctx.turn().reach(Limit::RepeatedCall { tool, times });
                    return Ok(());
                }
            }
        }
        next.run().await
    }

    fn name(&self) -> &'static str {
        "repeated_call_guard"
    }
}

debug_fields!(RepeatedCallGuard { times, tells });
