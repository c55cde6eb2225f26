use turnwright::tool;

/// A default that does not fit.
#[tool]
async fn forecast(#[arg(default = "three")] days: u8) -> String {
    days.to_string()
}

fn main() {}
