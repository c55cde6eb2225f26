use turnwright::tool;

/// Depends on a feature.
#[tool]
async fn depends(#[cfg(unix)] path: String) {}

/// Depends on serde.
#[tool]
async fn renamed(#[serde(rename = "b")] a: String) {}

fn main() {}
