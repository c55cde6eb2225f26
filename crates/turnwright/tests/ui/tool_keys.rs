use turnwright::tool;

/// An unknown key.
#[tool(retries = 3)]
async fn unknown() {}

/// A repeated key.
#[tool(effects = "writes", effects = "read_only")]
async fn repeated() {}

/// Values that the keys do not take.
#[tool(
    effects = "none",
    timeout_secs = "long",
    trusted = "yes",
    on_collision = 1,
    artifact_kind = "xml",
    inline = "sometimes",
    name = 5,
    description
)]
async fn wrong_values() {}

fn main() {}
