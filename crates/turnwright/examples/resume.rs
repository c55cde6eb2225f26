//! A process is killed during a payment. Another process resumes its turn, and nothing is paid twice.
//!
//! `cargo run -p turnwright --features sqlite --example resume`

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use turnwright::Error;
use turnwright::prelude::*;
use turnwright::reconcile::{Finding, UnknownCall};
use turnwright::store::ConversationId;
use turnwright::{SqliteStore, schemars::JsonSchema, serde::Deserialize};

/// A stand-in for a model. Like a model it knows only the records, so it can continue anywhere.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    match ctx.records().own_tool_calls().last() {
        None => drop(ctx.call("pay", r#"{"to": "Ada", "amount": 30}"#).await),
        Some(paid) => {
            let receipt = paid.text().await.unwrap_or_default();
            ctx.answer(format!("Paid: {receipt}.")).await?;
        }
    }
    Ok(())
}

/// The bank records each payment under its idempotency key.
fn bank(folder: &Path) -> PathBuf {
    folder.join("payments.txt")
}

/// A payment.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "turnwright::serde")]
#[schemars(crate = "turnwright::schemars")]
struct Payment {
    to: String,
    #[schemars(range(min = 1))]
    amount: u32,
}

fn pay(folder: &Path) -> Result<Tool, Error> {
    let (book, looked_up) = (bank(folder), bank(folder));
    Tool::typed::<Payment>("pay")
        .description("Makes a payment.")
        .handler_with(book, async |book, Payment { to, amount }, ctx| {
            let line = format!("{} {amount} to {to}\n", ctx.idempotency_key());
            let mut book = OpenOptions::new().append(true).create(true).open(&*book)?;
            book.write_all(line.as_bytes())?;
            // The bank has the money, but the result is not recorded yet: the process dies here.
            tokio::time::sleep(Duration::from_secs(600)).await;
            Ok("receipt 1")
        })
        .reconcile(move |call: UnknownCall| {
            let book = looked_up.clone();
            async move {
                let payments = std::fs::read_to_string(book).unwrap_or_default();
                Ok::<_, BoxError>(if payments.starts_with(call.idempotency_key()) {
                    Finding::done("the bank confirmed the payment")
                } else {
                    Finding::NotDone
                })
            }
        })
        .build()
}

async fn open(folder: &Path) -> Result<(SqliteStore, TurnRunner), BoxError> {
    // Large results are stored next to the database, in `turns.db.results`.
    let store = SqliteStore::open(folder.join("turns.db")).await?;
    let runner = turnwright::runner(model)
        .storage(store.storage().await?)
        .tool(pay(folder)?)
        .lease(Duration::from_secs(1))
        .build()?;
    Ok((store, runner))
}

/// The process that is killed.
async fn begin(folder: &Path) -> Result<(), BoxError> {
    let (_store, runner) = open(folder).await?;
    let input = TurnInput::new("Pay Ada what I owe her.");
    runner
        .run(input.conversation("bills").turn_id("bill-7"))
        .await;
    Ok(())
}

async fn show(store: &SqliteStore, when: &str) -> Result<(), BoxError> {
    let conversation_id = ConversationId::new("bills");
    for (turn, line) in store
        .turns(&conversation_id)
        .await?
        .iter()
        .zip(store.ledger(&conversation_id).await?)
    {
        let (state, call) = (turn.state.as_str(), line.state.as_str());
        println!(
            "{when}: the turn {} is {state}, its call of {} is {call}",
            turn.id(),
            line.tool
        );
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    if let Some(folder) = std::env::args_os().nth(1) {
        return begin(Path::new(&folder)).await;
    }
    let temporary = tempfile::tempdir()?;
    let folder = temporary.path();
    let mut process = Command::new(std::env::current_exe()?).arg(folder).spawn()?;
    while !bank(folder).exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    process.kill()?;
    process.wait()?;

    let (store, runner) = open(folder).await?;
    show(&store, "after the kill").await?;
    // The process that ran the turn is dead: the turn is resumed as soon as its lease has expired.
    let answer = runner.resume("bill-7").await?.await.into_answer()?;
    show(&store, "in the end").await?;
    println!("{answer}");
    println!(
        "payments: {}",
        std::fs::read_to_string(bank(folder))?.lines().count()
    );
    store.close().await?;
    Ok(())
}
