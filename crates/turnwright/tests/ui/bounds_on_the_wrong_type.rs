use turnwright::tool;

/// Bounds that cannot apply.
#[tool]
async fn bounds(
    #[arg(min = 1)] text: &str,
    #[arg(max = 1)] list: &[String],
    #[arg(multiple_of = 2)] flag: bool,
    #[arg(min_length = 1)] number: Option<u32>,
    #[arg(pattern = "^a")] items: Vec<String>,
    #[arg(max_items = 3)] owned: String,
    #[arg(unique_items)] map: std::collections::HashMap<String, u8>,
) {
}

fn main() {}
