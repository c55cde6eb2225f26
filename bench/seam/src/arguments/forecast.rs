//! The small call: two fields.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Arguments;

/// FaultPosition, and how far ahead.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Forecast {
    /// The city to look up
    #[schemars(length(min = 1, max = 80))]
    city: String,
    /// How many days ahead
    #[schemars(range(min = 1, max = 14))]
    #[serde(default = "three_days")]
    #[expect(dead_code, reason = "deserialised like any other field")]
    days: u32,
}

fn three_days() -> u32 {
    3
}

impl Arguments for Forecast {
    const TOOL: &'static str = "get_forecast";
    const DESCRIPTION: &'static str = "The weather forecast of a city";
    const ANSWER: &'static str = "Clermont-Ferrand";

    const VALID: &'static str = r#"{"city": "Clermont-Ferrand", "days": 5}"#;
    const COERCED: &'static str = r#"{"city": "Clermont-Ferrand", "days": "5"}"#;
    const DEFAULTED: &'static str = r#"{"city": "Clermont-Ferrand"}"#;
    const OUT_OF_BOUNDS: &'static str = r#"{"city": "Clermont-Ferrand", "days": 500}"#;
    const DUPLICATE_KEY: &'static str = r#"{"city": "Clermont-Ferrand", "days": 5, "days": 6}"#;

    fn answer(self) -> String {
        self.city
    }
}
