//! What happens to a result before it is stored or shown: hooks, and quarantine, which keeps a result out of the prompt.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::json;

use crate::artifact::Inline;
use crate::deadline::{TimeLimit, within};
use crate::error::{BoxError, Error, ErrorCode};
use crate::event::{Level, LogEntry};
use crate::record::{Settled, ToolResults};
use crate::tool::approval::ApprovalPolicy;
use crate::tool::context::ToolContext;
use crate::tool::{ResultHook, ToolOutput};

/// Iterates over the hooks: those of the tool, then those of the runner.
fn hooks(call: &ToolContext) -> impl Iterator<Item = &Arc<dyn ResultHook>> {
    let of_runner = &call.turn().setup().result_hooks;
    call.tool().result_hooks().iter().chain(of_runner)
}

pub(super) fn has_hooks(call: &ToolContext) -> bool {
    hooks(call).next().is_some()
}

/// Passes the result through the hooks, if there are any. If one of them fails, an output is discarded.
pub(super) async fn through_hooks(
    call: &ToolContext,
    result: Result<ToolOutput, Error>,
) -> Result<ToolOutput, Error> {
    if has_hooks(call) {
        Box::pin(changed_by_hooks(call, result)).await
    } else {
        result
    }
}

async fn changed_by_hooks(
    call: &ToolContext,
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
    let time = TimeLimit::from_now(call.tool().timeout());
    let cancellation = call.dispatch().cancellation();
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
    call: &ToolContext,
    mut output: ToolOutput,
) -> Result<ToolOutput, BoxError> {
    for hook in hooks(call) {
        let (untrusted, private) = (output.untrusted, output.private);
        output = hook.on_output(call.clone(), output).await?;
        output.untrusted |= untrusted;
        output.private |= private;
    }
    Ok(output)
}

async fn error_through(call: &ToolContext, error: &Error) -> Result<Error, BoxError> {
    let (mut model, mut operator) = (error.model_text().to_owned(), error.with_causes());
    for hook in hooks(call) {
        for text in [&mut model, &mut operator] {
            *text = hook
                .on_error_text(call.clone(), std::mem::take(text))
                .await?;
        }
    }
    // Without the source, which the hooks did not see.
    Ok(Error::new(error.code(), operator)
        .with_kind(error.kind())
        .with_model_text(model))
}

/// The error of a call whose result is withheld.
fn withheld(call: &ToolContext, ran: bool, why: &str) -> Error {
    let message = format!(
        "the result of `{}` was withheld: a result hook {why}",
        call.tool().name()
    );
    let for_model = if ran {
        "The tool ran, but its result was withheld. Do not call it again to see the result."
    } else {
        "The tool failed. No details are available."
    };
    Error::new(ErrorCode::TOOL_RESULT_WITHHELD, message).with_model_text(for_model)
}

impl ToolContext {
    /// Returns whether a policy of the turn, of an outer turn or of the tool keeps the result out of the prompt.
    pub(super) fn is_quarantined(&self) -> bool {
        if self.tool().is_artifact_tool() {
            return false;
        }
        // A policy is user code. If it panics, the result is kept out.
        let quarantines = |policy: &Arc<dyn ApprovalPolicy>| {
            catch_unwind(AssertUnwindSafe(|| policy.quarantines(self.tool()))).unwrap_or(true)
        };
        let setups = self.turn().setups();
        let policies = setups.flat_map(|setup| &setup.policies);
        policies.chain(self.tool().approval()).any(quarantines)
    }

    /// Returns whether the result is inlined.
    pub(super) fn inline(&self) -> Inline {
        if self.is_quarantined() {
            Inline::Never
        } else {
            self.tool().inline()
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
        let (id, tool) = (self.id(), self.tool().name());
        let entry = LogEntry::new(format!(
            "the result of call `{id}` of `{tool}` is in quarantine: the prompt does not show it"
        ));
        let payload = json!({ "id": id, "tool": tool, "source": self.tool().source() });
        let turn = self.turn();
        turn.log(Level::Info, entry.kind("quarantine").payload(payload));
    }
}
