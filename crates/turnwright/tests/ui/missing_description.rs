use turnwright::tool;

#[tool]
async fn silent() {}

///
#[tool]
async fn blank() {}

#[tool(description = "")]
async fn empty() {}

fn main() {}
