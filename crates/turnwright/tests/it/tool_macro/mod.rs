//! `#[tool]`: what it makes of a function, and what it refuses.

mod bounds;
mod calls;
mod documents;
mod refusals;

use turnwright::{DispatchContext, Error, RawArgs, Tool};

/// Runs a tool as a model would: through the executor.
async fn call(tool: &Tool, raw: impl Into<RawArgs>) -> Result<String, Error> {
    let context = DispatchContext::standalone();
    let output = tool.executor(&context).call(raw).await?;
    Ok(output.as_text().unwrap_or_default().to_owned())
}
