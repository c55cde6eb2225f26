//! The agent: its instructions, its tools and its policy.

use turnwright::approval::before_writes;
use turnwright::prelude::*;
use turnwright::{Error, Executor};

/// Weather forecast for a city.
#[tool(effects = "read_only", timeout_secs = 10)]
pub async fn forecast(
    /// City to look up.
    #[arg(min_length = 1, example = "Paris")]
    city: &str,
    /// Days ahead.
    #[arg(default = 3, min = 1, max = 14)]
    days: u8,
) -> Result<String, ToolError> {
    if city == "Atlantis" {
        // The first text is for you, the second one for the model.
        return Err(ToolError::not_found("no such row").for_model("There is no such city."));
    }
    // Replace this by a request to your weather service.
    Ok(format!("{city}: sunny for {days} days"))
}

/// Builds the agent for any model: a server in `main`, a script in the tests.
pub fn agent(model: impl Executor + 'static) -> Result<TurnRunner, Error> {
    turnwright::runner(model)
        .instructions("You answer questions about the weather. Be brief.")
        .tool(forecast())
        // Tools that are not `read_only` need approval.
        .policy(before_writes("it may change something"))
        .build()
}
