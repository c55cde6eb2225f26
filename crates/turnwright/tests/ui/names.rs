use turnwright::tool;

/// A space in its name.
#[tool(name = "get weather")]
async fn space() {}

/// No name at all.
#[tool(name = "")]
async fn empty() {}

/// A name that the function cannot lend.
#[tool]
async fn météo() {}

/// Two fields of one name.
#[tool]
async fn same(a: u8, #[arg(rename = "a")] b: u8) {}

fn main() {}
