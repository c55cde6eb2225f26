use turnwright::tool;

struct Report;

/// Returns what no tool returns.
#[tool]
async fn report() -> Report {
    Report
}

/// Returns a list of that.
#[tool]
async fn reports() -> Vec<Report> {
    Vec::new()
}

/// Returns that, or an error.
#[tool]
async fn try_report() -> Result<Report, std::io::Error> {
    Ok(Report)
}

struct NoError;

/// Fails with what is no error.
#[tool]
async fn parse(text: &str) -> Result<String, NoError> {
    text.parse().map_err(|_| NoError)
}

#[derive(turnwright::serde::Serialize)]
#[serde(crate = "turnwright::serde")]
struct Details {
    host: String,
}

/// Fails with what could be serialised, but was not written for a model.
#[tool]
async fn detailed() -> Result<u8, Details> {
    Ok(1)
}

fn main() {}
