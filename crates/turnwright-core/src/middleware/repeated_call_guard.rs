//! Detects repeated calls.

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

/// The stash path under which the number of calls at the time of the warning is stored, by checksum.
const WARNED: &str = "turnwright.repeated_call_guard";

type MayRepeat = Arc<dyn Fn(&Tool) -> bool + Send + Sync>;

/// Middleware that ends a turn that repeats the same call. See [`repeated_call_guard`].
///
/// ```
/// use turnwright_core::middleware::repeated_call_guard;
///
/// // Polling the same job is not a loop.
/// let guard = repeated_call_guard(3).except(|tool| tool.name() == "job_status");
/// ```
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct RepeatedCallGuard {
    times: u32,
    may_repeat: Option<MayRepeat>,
}

/// Detects that the same call, with the same tool and arguments, was made `times` times in this turn, whatever its result. The
/// model is warned first. If it makes the call again, the turn ends with [`Limit::RepeatedCall`]. Add it to the dispatch input.
/// Calls of earlier turns and calls that were never made do not count.
///
/// Tools that are meant to be called repeatedly, such as one that polls a job, can set the metadata `repeatable: true` or be
/// exempted with [`RepeatedCallGuard::except`].
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
/// assert!(matches!(outcome.status, TurnStatus::Limit(Limit::RepeatedCall { times: 4, .. })));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn repeated_call_guard(times: u32) -> RepeatedCallGuard {
    RepeatedCallGuard {
        times: times.max(1),
        may_repeat: None,
    }
}

impl RepeatedCallGuard {
    /// Exempts tools, in addition to those with the metadata `repeatable: true`.
    pub fn except(mut self, may_repeat: impl Fn(&Tool) -> bool + Send + Sync + 'static) -> Self {
        self.may_repeat = Some(Arc::new(may_repeat));
        self
    }

    fn exempts(&self, tool: &Tool) -> bool {
        tool.meta().get("repeatable") == Some(&Value::Bool(true))
            || self.may_repeat.as_ref().is_some_and(|may| may(tool))
    }

    /// Returns the calls that were repeated too often and their counts, in the order in which they were first made.
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

/// Warns the model and remembers that it was warned.
async fn warn(ctx: &DispatchContext, call: &ToolCall, times: u32, at: &str) -> Result<(), Error> {
    let text = format!(
        "You have called \"{}\" {times} times in this turn with the same arguments. Do not repeat this call. Use the results \
         you have, try something else, or answer.",
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
            let at = format!("{WARNED}.{}", call.checksum());
            match ctx.stash().get_as::<u32>(&at) {
                None => warn(&ctx, &call, times, &at).await?,
                Some(reported) if times <= reported => {}
                Some(_) => {
                    let tool = escape(call.tool(), 80);
                    ctx.turn().end_at_limit(Limit::RepeatedCall { tool, times });
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

debug_fields!(RepeatedCallGuard { times });
