use turnwright::tool;

/// Bounds that say nothing or nothing possible.
#[tool]
async fn values(
    #[arg(min = "1")] text_for_a_number: u8,
    #[arg(min_length = 1.5)] part_of_a_character: String,
    #[arg(max_items = -1)] less_than_none: Vec<u8>,
    #[arg(pattern = 1)] number_for_a_pattern: String,
    #[arg(unique_items = 1)] number_for_a_flag: Vec<u8>,
    #[arg(min = 5, max = -3)] empty_range: i8,
    #[arg(min_length = 5, max_length = 3)] empty_lengths: String,
) {
}

fn main() {}
