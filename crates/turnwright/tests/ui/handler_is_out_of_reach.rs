use turnwright::tool;

/// Greets.
#[tool]
async fn greet(name: &str) -> String {
    format!("Hello, {name}")
}

async fn around_the_executor() -> String {
    greet("you").await
}

fn main() {}
