//! `#[tool]`: what it makes of a function, and what it refuses.

mod bounds;
mod calls;
mod documents;
mod keys;
mod refusals;
mod returns;
mod states;

use turnwright::schema::RawArgs;
use turnwright::{DispatchContext, Error, Tool};

/// Runs a tool as a model would: through the executor.
async fn call(tool: &Tool, raw: impl Into<RawArgs>) -> Result<String, Error> {
    let context = DispatchContext::standalone();
    let output = tool.call(&context, raw).await?;
    Ok(output.as_text().unwrap_or_default().to_owned())
}
