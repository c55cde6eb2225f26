//! Passes results through hooks before they are stored or shown.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::run::RawOutcome;
use crate::deadline::{TimeLimit, within};
use crate::error::{BoxError, Error, ErrorCode};
use crate::panic::drop_quietly;
use crate::tool::context::{CallFacts, ToolContext};
use crate::tool::{ResultHook, ToolOutput};

impl CallFacts {
    /// Iterates over the hooks: those of the tool, then those of the runner.
    fn result_hooks(&self) -> impl Iterator<Item = &Arc<dyn ResultHook>> {
        let of_runner = &self.call.ctx.turn().setup().result_hooks;
        self.tool.result_hooks().iter().chain(of_runner)
    }

    pub(super) fn has_result_hooks(&self) -> bool {
        self.result_hooks().next().is_some()
    }
}

impl RawOutcome {
    /// Passes the result through the hooks.
    pub(super) async fn through_hooks(mut self) -> Self {
        if self.facts.has_result_hooks() {
            self.result = Box::pin(through_hooks(&self.facts, self.result)).await;
        }
        self
    }
}

/// Passes the output of a handler through the hooks. If one of them fails, the output is discarded.
pub(super) async fn through_hooks(
    facts: &Arc<CallFacts>,
    result: Result<ToolOutput, Error>,
) -> Result<ToolOutput, Error> {
    let ran = result.is_ok();
    let hooked = async {
        match result {
            Ok(output) => output_through(facts, output).await.map(Ok),
            // Only this error has texts of the handler. All others are the framework's own.
            Err(error) if error.code() == ErrorCode::TOOL_DOWNSTREAM_ERROR => {
                error_through(facts, &error).await.map(Err)
            }
            Err(error) => Ok(Err(error)),
        }
    };
    let hooked = AssertUnwindSafe(hooked).catch_unwind();
    let time = TimeLimit::from_now(facts.tool.timeout());
    let cancellation = facts.call.ctx.cancellation();
    let why = match within(time, cancellation, hooked).await {
        Ok(Ok(Ok(result))) => return result,
        Ok(Ok(Err(_))) => "failed",
        Ok(Err(panic)) => {
            drop_quietly(panic);
            "panicked"
        }
        Err(_) => "was interrupted",
    };
    Err(withheld(facts, ran, why))
}

async fn output_through(
    facts: &Arc<CallFacts>,
    mut output: ToolOutput,
) -> Result<ToolOutput, BoxError> {
    for hook in facts.result_hooks() {
        let untrusted = output.untrusted;
        let ctx = ToolContext::new(Arc::clone(facts));
        output = hook.on_output(ctx, output).await?;
        output.untrusted |= untrusted;
    }
    Ok(output)
}

async fn error_through(facts: &Arc<CallFacts>, error: &Error) -> Result<Error, BoxError> {
    let (mut model, mut operator) = (error.model_text().to_owned(), error.with_causes());
    for hook in facts.result_hooks() {
        for text in [&mut model, &mut operator] {
            let ctx = ToolContext::new(Arc::clone(facts));
            *text = hook.on_error_text(ctx, std::mem::take(text)).await?;
        }
    }
    // Without the source, which the hooks did not see.
    Ok(Error::new(error.code(), operator)
        .with_kind(error.kind())
        .with_model_text(model))
}

/// The error of a call whose result is withheld.
fn withheld(facts: &CallFacts, ran: bool, why: &str) -> Error {
    let message = format!(
        "the result of `{}` was withheld: a result hook {why}",
        facts.tool.name()
    );
    let for_model = match ran {
        true => {
            "The tool ran, but its result was withheld. Do not call it again to see the result."
        }
        false => "The tool failed. No details are available.",
    };
    Error::new(ErrorCode::TOOL_RESULT_WITHHELD, message).with_model_text(for_model)
}
