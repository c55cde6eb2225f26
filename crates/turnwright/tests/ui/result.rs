use turnwright::tool;

struct Report;

/// Returns what no tool returns.
#[tool]
async fn report() -> Report {
    Report
}

/// Fails with what is no error of a tool.
#[tool]
async fn parse(text: &str) -> Result<String, std::num::ParseIntError> {
    text.parse::<i64>().map(|number| number.to_string())
}

fn main() {}
