//! Serves an agent as one tool over standard input and output, for any client of the Model Context Protocol.
//!
//! Runs offline, with a scripted model: `cargo run -p turnwright-mcp --example serve_agent`. Configure it in a client as a command.
#![allow(
    clippy::indexing_slicing,
    reason = "a missing field of a JSON value is `null`"
)]

use serde_json::json;
use turnwright_core::tool::approval::before_writes;
use turnwright_core::{BoxError, DispatchContext, Effects, Tool};
use turnwright_mcp::McpService;
use turnwright_mcp::serve::agent_tool;

/// A stand-in for a model: a search, then an order, then an answer.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let calls = ctx.records().own_tool_calls();
    match calls.as_slice() {
        [] => drop(ctx.call("search", json!({ "words": "lighthouses" })).await),
        [_] => drop(
            ctx.call("order", json!({ "book": "The Lighthouse Book" }))
                .await,
        ),
        [found, ordered, ..] => {
            let found = found.text().await.unwrap_or_default();
            let ordered = ordered.text().await.unwrap_or_default();
            ctx.answer(format!("{found}. {ordered}")).await?;
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let text = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let search = Tool::dynamic("search", text("words"))
        .description("Searches a library.")
        .effects(Effects::ReadOnly)
        .handler(async |args, _| format!("3 books on {}", args["words"]))
        .build()?;
    let order = Tool::dynamic("order", text("book"))
        .description("Orders a book.")
        .handler(async |args, _| format!("Ordered {}", args["book"]))
        .build()?;
    // The client asks its user before the agent orders something.
    let librarian = turnwright_core::runner(model)
        .tool(search)
        .tool(order)
        .policy(before_writes("it may cost money"))
        .build()?;
    let research = agent_tool(
        "librarian",
        "Asks a librarian to find and order books.",
        librarian,
    )?;
    McpService::of([research])?
        .name("library", "1.0.0")
        .serve_stdio()
        .await?;
    Ok(())
}
