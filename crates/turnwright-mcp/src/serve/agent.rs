//! An agent as a tool.

use serde_json::{Value, json};
use turnwright_core::{Error, EventKind, Tool, ToolContext, ToolError, TurnInput, TurnRunner};

/// Creates a tool that runs an agent: it takes a task as text and returns the answer of a turn.
///
/// The turn runs under the call ([`TurnInput::under_call`]): it is cancelled with it, and its approvals are those of the call. The
/// client sees each tool call of the agent as progress.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_mcp::McpService;
/// use turnwright_mcp::serve::agent_tool;
///
/// // A model, in an application.
/// let executor = |ctx: DispatchContext| async move {
///     ctx.answer("Three books.").await?;
///     Ok(())
/// };
/// let librarian = turnwright_core::runner(executor).build()?;
/// let research = agent_tool("research", "Asks a librarian to look something up.", librarian)?;
/// let service = McpService::of([research])?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
///
/// # Errors
/// Returns `E_INVALID_INITIAL_TOOL_VALUE` if the name or the description is invalid.
pub fn agent_tool(
    name: impl Into<String>,
    description: impl Into<String>,
    runner: TurnRunner,
) -> Result<Tool, Error> {
    let schema = json!({
        "type": "object",
        "properties": {
            "task": { "type": "string", "minLength": 1, "description": "What to do, with everything that the agent needs to know" },
        },
        "required": ["task"],
        "additionalProperties": false,
    });
    Tool::dynamic(name, schema)
        .description(description)
        .timeout(None)
        .handler_with(runner, async |runner, args, ctx| {
            let task = args.get("task").and_then(Value::as_str).unwrap_or_default();
            run(&runner, task.to_owned(), ctx).await
        })
        .build()
}

async fn run(runner: &TurnRunner, task: String, ctx: ToolContext) -> Result<String, ToolError> {
    let mut turn = runner.start(TurnInput::new(task).under_call(&ctx));
    while let Some(event) = turn.next().await {
        match event.kind {
            EventKind::ToolExecutionStart { tool, .. } => ctx.progress(format!("calls {tool}")),
            EventKind::ToolExecutionProgress { message, .. } => ctx.progress(message),
            _ => {}
        }
    }
    Ok(turn.await.into_answer()?)
}
