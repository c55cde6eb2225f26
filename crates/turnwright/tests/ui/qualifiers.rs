use turnwright::tool;

/// A constant.
#[tool]
const fn constant() {}

/// Not checked.
#[tool]
async unsafe fn not_checked() {}

/// Foreign.
#[tool]
async extern "C" fn foreign() {}

/// Any number of numbers.
#[tool]
async fn variadic(first: i64, rest: ...) {}

fn main() {}
