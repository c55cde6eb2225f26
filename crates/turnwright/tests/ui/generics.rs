use turnwright::tool;

/// Any type.
#[tool]
async fn any_type<T: Send>(value: T) {}

/// Any number of items.
#[tool]
async fn any_length<const N: usize>(values: [u8; N]) {}

/// Any lifetime.
#[tool]
async fn any_lifetime<'a>(value: &'a str) {}

/// Some condition.
#[tool]
async fn some_condition(value: String)
where
    String: Clone,
{
}

fn main() {}
