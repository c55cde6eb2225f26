//! A tool in a package that depends only on `turnwright` and `tokio`.

#![deny(warnings)]

use turnwright::prelude::*;
use turnwright::Error;
use turnwright::{schemars, serde};

#[derive(Debug, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(crate = "turnwright::serde", rename_all = "lowercase")]
#[schemars(crate = "turnwright::schemars")]
enum Units {
    #[default]
    Metric,
    Imperial,
}

/// Current weather for a city.
#[tool(effects = "read_only")]
async fn get_weather(
    /// City to look up.
    #[arg(min_length = 1, example = "Paris")]
    city: &str,
    #[arg(default = 3, min = 1, max = 14)] days: u8,
    #[arg(default = Units::default())] units: Units,
    tags: Option<Vec<String>>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let _ = (tags, context);
    let units = match units {
        Units::Metric => "metric",
        Units::Imperial => "imperial",
    };
    Ok(format!("{city}: sunny for {days} days, in {units} units"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let tool = get_weather()?;
    let context = DispatchContext::standalone();
    let output = tool.call(&context, r#"{"city": "Paris"}"#).await?;
    println!("{}", output.as_text().unwrap_or_default());
    if let Err(error) = tool.call(&context, r#"{"city": "Paris", "days": 99}"#).await {
        for fault in error.faults() {
            println!("{} {}", fault.pointer, fault.rule);
        }
    }
    Ok(())
}
