//! Serves some tools with the Model Context Protocol: arguments that are checked, an approval, progress, a large result.
//!
//! Over standard input and output: `cargo run -p turnwright-mcp --example serve_tools`
//! Over HTTP: `cargo run -p turnwright-mcp --example serve_tools 8765`, then http://127.0.0.1:8765/mcp
#![allow(
    clippy::indexing_slicing,
    reason = "a missing field of a JSON value is `null`"
)]

use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::schema::{integer, object};
use turnwright_core::tool::approval::always;
use turnwright_core::{BoxError, Effects, Error, Tool, ToolContext};
use turnwright_mcp::McpService;

fn tools() -> Result<[Tool; 4], Error> {
    let numbers = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "required": ["a", "b"],
    });
    let add = Tool::dynamic("add", numbers)
        .description("Adds two numbers.")
        .effects(Effects::ReadOnly)
        .output_schema(object().field("sum", integer().required()))
        .handler(async |args: Value, _| {
            let (a, b) = (args["a"].as_i64(), args["b"].as_i64());
            json!({ "sum": a.zip(b).and_then(|(a, b)| a.checked_add(b)) })
        })
        .build()?;
    let pay = Tool::dynamic("pay", json!({ "type": "object", "properties": { "euros": { "type": "integer" } }, "required": ["euros"] }))
        .description("Pays an amount. The client asks its user first.")
        .approval(always("it costs money"))
        .handler(async |args: Value, _| format!("paid {} euros", args["euros"]))
        .build()?;
    let book = Tool::dynamic("book", json!({ "type": "object" }))
        .description("Returns a book of 2.5 MB, as a link that is read in pieces.")
        .effects(Effects::ReadOnly)
        .handler(async |_: Value, _| -> String {
            (1..=100_000)
                .map(|line| format!("Line {line} of the bóok.\n"))
                .collect()
        })
        .build()?;
    let count = Tool::dynamic("count", json!({ "type": "object" }))
        .description("Counts to three and reports its progress.")
        .effects(Effects::ReadOnly)
        .handler(async |_: Value, ctx: ToolContext| {
            for number in ["one", "two", "three"] {
                ctx.progress(number);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            "three"
        })
        .build()?;
    Ok([add, pay, book, count])
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let service = McpService::of(tools()?)?.name("example", "1.0.0");
    match std::env::args().nth(1) {
        None => service.serve_stdio().await?,
        Some(port) => {
            println!("http://127.0.0.1:{port}/mcp");
            service.http().serve_loopback(port.parse()?).await?;
        }
    }
    Ok(())
}
