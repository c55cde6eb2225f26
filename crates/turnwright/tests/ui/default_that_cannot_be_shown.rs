use turnwright::schemars::JsonSchema;
use turnwright::serde::Deserialize;
use turnwright::tool;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "turnwright::serde")]
#[schemars(crate = "turnwright::schemars")]
struct Days(u8);

/// A default that the model would not see.
#[tool]
async fn forecast(#[arg(default = Days(3))] days: Days) -> String {
    days.0.to_string()
}

fn main() {}
