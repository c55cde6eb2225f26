//! Tools that are known only at run time: a server sends names, descriptions and schemas, like MCP servers do. Each
//! becomes a tool with the same contract as any other, and is available only in the turn that requested it.
//!
//! Runs offline: `cargo run -p turnwright --example dynamic_tools`

use serde::Deserialize;
use serde_json::{Value, json};
use turnwright::Error;
use turnwright::event::{EventKind, Level};
use turnwright::middleware::fetch_tools;
use turnwright::prelude::*;

/// The response of the server with its tools.
const SENT: &str = r#"[
  {
    "name": "find_tickets",
    "description": "Finds tickets by their state.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "state": { "enum": ["open", "closed"] },
        "limit": { "type": "integer", "minimum": 1, "maximum": 50, "default": 10 }
      },
      "required": ["state"],
      "additionalProperties": false
    }
  },
  {
    "name": "close_ticket",
    "description": "Closes a ticket.",
    "inputSchema": {
      "type": "object",
      "properties": { "id": { "type": "string", "minLenght": 1 } },
      "required": ["id"]
    }
  }
]"#;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    name: String,
    description: String,
    input_schema: Value,
}

/// The server's side: runs a tool with validated arguments. A real one is behind a socket.
async fn run_on_server(tool: &str, args: &Value) -> Result<String, ToolError> {
    Ok(format!("the server ran {tool} with {args}"))
}

/// Creates a tool from what was sent. Its schema is the server's, unchanged: it is shown to the model and enforced.
/// The tool is not trusted, so it counts as one that may write, and its results are put into envelopes.
fn tool_from(sent: Sent) -> Result<Tool, Error> {
    Tool::dynamic(sent.name, sent.input_schema)
        .description(sent.description)
        .handler(|args: Value, ctx: ToolContext| async move {
            run_on_server(ctx.tool().name(), &args).await
        })
        .build()
}

/// Fetches the server's tools for the turns that want them. A tool whose schema cannot be enforced is skipped and
/// logged.
async fn fetch(ctx: TurnContext) -> Result<Vec<Tool>, BoxError> {
    let mut tools = Vec::new();
    if ctx.stash().get("server") == Some(json!("tickets")) {
        for sent in serde_json::from_str::<Vec<Sent>>(SENT)? {
            let name = sent.name.clone();
            match tool_from(sent) {
                Ok(tool) => tools.push(tool),
                Err(error) => ctx.log(Level::Warn, format!("skipped `{name}`: {error}")),
            }
        }
    }
    Ok(tools)
}

/// A stand-in for a model: three calls at once, whatever tools there are.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let tools = ctx.tools().visible();
    let names: Vec<&str> = tools.iter().map(Tool::name).collect();
    println!("  tools: {}", names.join(", "));
    let calls = [
        ("find_tickets", r#"{"state": "open"}"#),
        ("find_tickets", r#"{"state": "lost", "limit": 500}"#),
        ("today", "{}"),
    ];
    let proposed = calls.map(|(tool, args)| ctx.propose(tool, args));
    for call in ctx.call_tools(proposed).await {
        let text = call.text().await.unwrap_or_default();
        println!("  {}: {}", call.tool(), text.replace('\n', "\n    "));
    }
    ctx.ack()?;
    Ok(())
}

/// Today's date.
#[tool(effects = "read_only")]
async fn today() -> &'static str {
    "a Monday"
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let runner = turnwright::runner(model)
        .tool(today())
        .turn_input(fetch_tools(fetch))
        .observer(|event| {
            if let EventKind::Log { level, message, .. } = &event.kind {
                println!("  {level}: {message}");
            }
        })
        .build()?;

    println!("a turn that works with tickets");
    let tickets = TurnInput::new("What is open?").stash("server", "tickets");
    runner.run(tickets).await.into_answer()?;

    println!("\nanother turn of the same runner");
    runner.run("What is open?").await.into_answer()?;
    Ok(())
}
