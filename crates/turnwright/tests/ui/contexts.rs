use turnwright::tool;

/// Two contexts.
#[tool]
async fn two(first: &turnwright::ToolContext, second: turnwright::ToolContext) {}

/// A described context.
#[tool]
async fn described(#[arg(note = "Not for the model.")] context: &turnwright::ToolContext) {}

fn main() {}
