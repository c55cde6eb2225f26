use turnwright::{Tool, TurnInput, serde, tool};

#[derive(serde::Deserialize)]
#[serde(crate = "turnwright::serde")]
struct NoSchema {
    size: u8,
}

/// Takes a list of a type without a schema.
#[tool]
async fn no_schema(_items: Vec<NoSchema>) {}

fn typed() {
    let _ = Tool::typed::<NoSchema>("typed");
}

fn answer() {
    let _ = TurnInput::new("Hello!").answer::<NoSchema>();
}

fn main() {}
