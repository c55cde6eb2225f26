use turnwright::{Tool, TurnRunner, serde, tool};

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

async fn answer(runner: TurnRunner) {
    runner.run_typed::<NoSchema>("Hello!").await;
}

fn main() {}
