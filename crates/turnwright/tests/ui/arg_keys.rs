use turnwright::tool;

/// Unknown keys, repeated keys, and keys without a value.
#[tool]
async fn keys(
    #[arg(minimum = 1)] unknown: u8,
    #[arg(type = "text")] keyword: String,
    #[arg(min = 1, min = 2)] repeated: u8,
    #[arg(max = 1)]
    #[arg(max = 2)]
    repeated_apart: u8,
    #[arg(default)] no_value: u8,
    #[arg] no_list: u8,
    #[arg(rename = "")] no_name: u8,
    #[arg(note = 5)] no_text: u8,
    /// The doc comment.
    #[arg(description = "The description.")]
    described_twice: u8,
) {
}

fn main() {}
