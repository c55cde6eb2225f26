use turnwright::tool;

/// A pair.
#[tool]
async fn pair((a, b): (u8, u8)) {}

/// Anything.
#[tool]
async fn anything(_: String) {}

/// By reference.
#[tool]
async fn by_reference(ref city: String) {}

fn main() {}
