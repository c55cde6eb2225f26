use turnwright::tool;

#[tool(nome = "x")]
fn many<T>(&self, number: &u8, #[arg(min = 1)] text: String) -> String {
    text
}

fn caller() {
    // The function exists for its callers, so that they add no errors of their own.
    let _ = many();
}

fn main() {}
