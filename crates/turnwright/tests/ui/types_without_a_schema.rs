use turnwright::tool;

/// Types that no schema describes.
#[tool]
async fn describe(
    printable: impl std::fmt::Display,
    boxed: Box<dyn Send>,
    inferred: Vec<_>,
    callback: fn(u8) -> u8,
    borrowed: std::borrow::Cow<'_, str>,
    huge: Option<u128>,
) {
}

fn main() {}
