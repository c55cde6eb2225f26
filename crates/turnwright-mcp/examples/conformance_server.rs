//! The server that the official conformance suite tests: `scripts/mcp-conformance.sh server`.
//!
//! Tools, approvals, gates, progress, logs and large results are those of the library. Prompts, static resources and completion are
//! added as methods, because the suite asks for them.
#![allow(
    clippy::indexing_slicing,
    reason = "a missing field of a JSON value is `null`"
)]

#[path = "conformance_server/methods.rs"]
mod methods;
#[path = "conformance_server/questions.rs"]
mod questions;
#[path = "conformance_server/tools.rs"]
mod tools;

use serde_json::{Value, json};
use turnwright_core::{BoxError, Error, Tool, ToolRegistry};
use turnwright_mcp::McpService;

/// A tool that hides or shows another one.
fn change(tools: &ToolRegistry) -> Result<Tool, Error> {
    Tool::dynamic(
        "test_trigger_tool_change",
        json!({ "type": "object", "properties": {} }),
    )
    .description("Changes the list of tools.")
    .handler_with(tools.clone(), async |tools, _: Value, _| {
        let name = "test_logging_tool";
        if !tools.reveal(name) {
            tools.hide(name);
        }
        "changed"
    })
    .build()
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "8765".to_owned());
    let tools = tools::all()?.into_iter().chain(questions::all()?);
    let tools = ToolRegistry::new(tools)?;
    tools.register(change(&tools)?)?;
    let service = McpService::new(tools)
        .name("turnwright-conformance", "1.0.0")
        .send_logs(true);
    let service = methods::add_to(service);
    println!("http://127.0.0.1:{port}/mcp");
    service.http().serve_loopback(port.parse()?).await?;
    Ok(())
}
