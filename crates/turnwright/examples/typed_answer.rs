//! An answer as a Rust type. It is validated like the arguments of a tool. Faults are sent back to the model, which
//! tries again. You get a value of the type, or an error. The last part shows an answer while it arrives.
//!
//! Runs offline: `cargo run -p turnwright --example typed_answer`

use schemars::JsonSchema;
use serde::Deserialize;
use turnwright::Error;
use turnwright::Message;
use turnwright::prelude::*;
use turnwright::record::Author;

/// The content of a bill.
#[derive(Debug, Deserialize, JsonSchema)]
struct Bill {
    /// The sender.
    #[schemars(length(min = 1))]
    from: String,
    /// The amount in cents.
    #[schemars(range(min = 1))]
    cents: u64,
    currency: Currency,
    /// The items.
    #[schemars(length(min = 1))]
    items: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Currency {
    Eur,
    Usd,
}

/// A stand-in for a model that improves with each attempt, as models do when they are shown their mistakes.
async fn learner(ctx: DispatchContext) -> Result<(), BoxError> {
    ctx.answer(match ctx.records().all::<Message>().len() {
        1 => r#"{"from": "Acme", "cents": -1250, "currency": "euro"}"#,
        // A code block is removed and a number in a string is repaired: no other attempt is needed for that.
        _ => "```json\n{\"from\": \"Acme\", \"cents\": \"1250\", \"currency\": \"EUR\", \"items\": [\"anvil\"]}\n```",
    })
    .await?;
    Ok(())
}

/// A stand-in for a model that does not improve.
async fn stubborn(ctx: DispatchContext) -> Result<(), BoxError> {
    ctx.answer("The bill is from Acme, over 12.50 euros.")
        .await?;
    Ok(())
}

/// A model that streams a list. Lists, enums and scalars are wrapped: the model answers `{"value": …}`.
async fn streaming(ctx: DispatchContext) -> Result<(), BoxError> {
    let mut message = ctx.reporter().message();
    for piece in [
        r#"{"value": ["an"#,
        r#"vil", "ro"#,
        r#"pe", "lamp"#,
        r#""]}"#,
    ] {
        message.push(piece).await;
    }
    message.finish_as_answer().await?;
    ctx.ack()?;
    Ok(())
}

fn show(outcome: &TurnOutcome) {
    for message in outcome.messages() {
        let author = match message.author() {
            Author::User => "user",
            Author::Assistant => "model",
            _ => "turnwright",
        };
        println!(
            "{author:>10} │ {}",
            message.text().replace('\n', "\n           │ ")
        );
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let asked = "Acme, anvil, 12.50 EUR: what does this bill say?";

    println!("a model that corrects its mistakes\n");
    let runner = turnwright::runner(learner).build()?;
    let outcome = runner.run(TurnInput::new(asked).answer::<Bill>()).await;
    show(&outcome);
    let bill: Bill = outcome.answer()?;
    let (items, cents) = (bill.items.join(", "), bill.cents);
    println!(
        "{:>10} │ {cents} {:?} to {} for {items}\n",
        "you", bill.currency, bill.from
    );

    println!("a model that does not: three attempts, then an error\n");
    let runner = turnwright::runner(stubborn).build()?;
    let outcome = runner.run(TurnInput::new(asked).answer::<Bill>()).await;
    println!("{:>10} │ rejected answers: {}", "model", outcome.iterations);
    if let Err(error) = outcome.answer::<Bill>() {
        println!("{:>10} │ {error}", "you");
    }

    println!("\na list while it arrives\n");
    let runner = turnwright::runner(streaming).build()?;
    let turn = runner.start(TurnInput::new("What is on the bills?").answer::<Vec<String>>());
    let mut partial = turn.partial_answers::<serde_json::Value>();
    while let Some(items) = partial.next().await {
        // Not validated: show it, but do not act on it.
        println!("{:>10} │ {items}", "so far");
    }
    let items: Vec<String> = turn.await.answer()?;
    println!("{:>10} │ {} items", "you", items.len());
    Ok(())
}
