//! What happens to a result before it is stored or shown: hooks, and quarantine, which keeps a result out of the prompt.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::json;

use super::run::Ran;
use crate::artifact::Inline;
use crate::deadline::{TimeLimit, within};
use crate::error::{BoxError, Error, ErrorCode};
use crate::event::{Level, LogEntry};
use crate::record::{Settled, ToolResults};
use crate::tool::approval::ApprovalPolicy;
use crate::tool::context::{Call, Running, ToolContext};
use crate::tool::{ResultHook, ToolOutput};

impl Call<Running> {
    /// Iterates over the hooks: those of the tool, then those of the runner.
    fn result_hooks(&self) -> impl Iterator<Item = &Arc<dyn ResultHook>> {
        let of_runner = &self.turn().setup().result_hooks;
        self.stage.tool.result_hooks().iter().chain(of_runner)
    }

    pub(super) fn has_result_hooks(&self) -> bool {
        self.result_hooks().next().is_some()
    }
}

impl Ran {
    /// Passes the result through the hooks.
    pub(super) async fn through_hooks(mut self) -> Self {
        if self.call.has_result_hooks() {
            self.result = Box::pin(through_hooks(&self.call, self.result)).await;
        }
        self
    }
}

/// Passes the output of a handler through the hooks. If one of them fails, the output is discarded.
pub(super) async fn through_hooks(
    call: &Arc<Call<Running>>,
    result: Result<ToolOutput, Error>,
) -> Result<ToolOutput, Error> {
    let ran = result.is_ok();
    let hooked = async {
        match result {
            Ok(output) => output_through(call, output).await.map(Ok),
            // Only this error has texts of the handler. All others are the framework's own.
            Err(error) if error.code() == ErrorCode::TOOL_DOWNSTREAM_ERROR => {
                error_through(call, &error).await.map(Err)
            }
            Err(error) => Ok(Err(error)),
        }
    };
    let hooked = AssertUnwindSafe(hooked).catch_unwind();
    let time = TimeLimit::from_now(call.stage.tool.timeout());
    let cancellation = call.ctx.cancellation();
    let why = match within(time, cancellation, hooked).await {
        Ok(Ok(Ok(result))) => return result,
        Ok(Ok(Err(_))) => "failed",
        // Its text may quote the result.
        Ok(Err(_)) => "panicked",
        Err(_) => "was interrupted",
    };
    Err(withheld(call, ran, why))
}

async fn output_through(
    call: &Arc<Call<Running>>,
    mut output: ToolOutput,
) -> Result<ToolOutput, BoxError> {
    for hook in call.result_hooks() {
        let (untrusted, private) = (output.untrusted, output.private);
        let ctx = ToolContext::new(Arc::clone(call));
        output = hook.on_output(ctx, output).await?;
        output.untrusted |= untrusted;
        output.private |= private;
    }
    Ok(output)
}

async fn error_through(call: &Arc<Call<Running>>, error: &Error) -> Result<Error, BoxError> {
    let (mut model, mut operator) = (error.model_text().to_owned(), error.with_causes());
    for hook in call.result_hooks() {
        for text in [&mut model, &mut operator] {
            let ctx = ToolContext::new(Arc::clone(call));
            *text = hook.on_error_text(ctx, std::mem::take(text)).await?;
        }
    }
    // Without the source, which the hooks did not see.
    Ok(Error::new(error.code(), operator)
        .with_kind(error.kind())
        .with_model_text(model))
}

/// The error of a call whose result is withheld.
fn withheld(call: &Call<Running>, ran: bool, why: &str) -> Error {
    let message = format!(
        "the result of `{}` was withheld: a result hook {why}",
        call.stage.tool.name()
    );
    let for_model = if ran {
        "The tool ran, but its result was withheld. Do not call it again to see the result."
    } else {
        "The tool failed. No details are available."
    };
    Error::new(ErrorCode::TOOL_RESULT_WITHHELD, message).with_model_text(for_model)
}

impl Call<Running> {
    /// Returns whether a policy of the turn, of an outer turn or of the tool keeps the result out of the prompt.
    pub(super) fn is_quarantined(&self) -> bool {
        if self.stage.tool.is_artifact_tool() {
            return false;
        }
        // A policy is user code. If it panics, the result is kept out.
        let quarantines = |policy: &Arc<dyn ApprovalPolicy>| {
            catch_unwind(AssertUnwindSafe(|| policy.quarantines(&self.stage.tool))).unwrap_or(true)
        };
        let setups = self.turn().setups();
        let policies = setups.flat_map(|setup| &setup.policies);
        policies.chain(self.stage.tool.approval()).any(quarantines)
    }

    /// Returns whether the result is inlined.
    pub(super) fn inline(&self) -> Inline {
        if self.is_quarantined() {
            Inline::Never
        } else {
            self.stage.tool.inline()
        }
    }

    /// Keeps the result out of the prompt.
    pub(super) fn quarantine(&self, settled: &mut Settled) {
        let framework_text = match &settled.results {
            ToolResults::Artifacts(_) => {
                settled.inline = Some(false);
                None
            }
            ToolResults::Failure(_) => {
                Some("The results of this tool are in quarantine. Its error message is not shown.")
            }
            ToolResults::Media(_) => Some(
                "The tool returned media. The results of this tool are in quarantine, so they are not shown.",
            ),
            ToolResults::Nothing | ToolResults::Text(_) | ToolResults::Refusal(_) => return,
        };
        if let Some(text) = framework_text {
            settled.results = ToolResults::Failure(text.to_owned());
        }
        // No artifact tool reads media.
        settled.attachments.clear();
        settled.quarantined = true;
        let (id, tool) = (self.id(), self.stage.tool.name());
        let entry = LogEntry::new(format!(
            "the result of call `{id}` of `{tool}` is in quarantine: the prompt does not show it"
        ));
        let payload = json!({ "id": id, "tool": tool, "source": self.stage.tool.source() });
        let turn = self.turn();
        turn.log(Level::Info, entry.kind("quarantine").payload(payload));
    }
}
