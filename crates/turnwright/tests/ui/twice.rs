use turnwright::tool;

/// One tool.
#[tool]
#[tool(trusted)]
async fn one() {}

fn main() {}
