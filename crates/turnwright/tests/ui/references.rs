use turnwright::tool;

/// Many things to borrow.
#[tool]
async fn borrow(
    number: &u64,
    text: &String,
    list: &Vec<Option<u8>>,
    changed: &mut str,
    forever: &'static str,
    maybe: Option<&str>,
    words: &[&str],
    context: &mut turnwright::ToolContext,
) {
}

fn main() {}
