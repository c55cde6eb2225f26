//! An answer of a Rust type. It is checked like the arguments of a tool; what is wrong with it goes back to the model, which
//! tries again; a value of the type is what you get, or an error. The last part shows an answer while it arrives.
//!
//! Runs offline: `cargo run -p turnwright --example typed_answer`

use schemars::JsonSchema;
use serde::Deserialize;
use turnwright::Error;
use turnwright::Message;
use turnwright::prelude::*;
use turnwright::record::Author;
use turnwright::runner::TypedEvent;

/// What a bill says.
#[derive(Debug, Deserialize, JsonSchema)]
struct Bill {
    /// Who sent it.
    #[schemars(length(min = 1))]
    from: String,
    /// What is to be paid.
    #[schemars(range(min = 1))]
    cents: u64,
    currency: Currency,
    /// What it is for.
    #[schemars(length(min = 1))]
    items: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Currency {
    Eur,
    Usd,
}

/// In the place of a model: it gets better at each attempt, as models do once they are told what is wrong.
async fn learner(ctx: DispatchContext) -> Result<(), BoxError> {
    ctx.answer(match ctx.records().all::<Message>().len() {
        1 => r#"{"from": "Acme", "cents": -1250, "currency": "euro"}"#,
        // A code block around it is taken off, a number as text is repaired: no need to ask again for that.
        _ => "```json\n{\"from\": \"Acme\", \"cents\": \"1250\", \"currency\": \"EUR\", \"items\": [\"anvil\"]}\n```",
    })
    .await?;
    Ok(())
}

/// In the place of a model that does not.
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
        let who = match message.author() {
            Author::User => "user",
            Author::Assistant => "model",
            _ => "turnwright",
        };
        println!(
            "{who:>10} │ {}",
            message.text().replace('\n', "\n           │ ")
        );
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let asked = "Acme, anvil, 12.50 EUR: what does this bill say?";

    println!("a model that learns from its faults\n");
    let runner = turnwright::runner(learner).build()?;
    let typed = runner.run_typed::<Bill>(asked).await;
    show(&typed.outcome);
    let bill: Bill = typed.into_answer()?;
    let (items, cents) = (bill.items.join(", "), bill.cents);
    println!(
        "{:>10} │ {cents} {:?} to {} for {items}\n",
        "you", bill.currency, bill.from
    );

    println!("a model that does not: three attempts, then an error\n");
    let runner = turnwright::runner(stubborn).build()?;
    let typed = runner.run_typed::<Bill>(asked).await;
    println!(
        "{:>10} │ answers in vain: {}",
        "model", typed.outcome.iterations
    );
    if let Err(error) = typed.into_answer() {
        println!("{:>10} │ {error}", "you");
    }

    println!("\na list while it arrives\n");
    let runner = turnwright::runner(streaming).build()?;
    let mut turn = runner.start_typed::<Vec<String>>("What is on the bills?");
    while let Some(event) = turn.next().await {
        match event {
            // Not validated: show it, do not act on it.
            TypedEvent::Partial(partial) => println!("{:>10} │ {}", "so far", partial.value()),
            TypedEvent::Reset => println!("{:>10} │ from the beginning", "so far"),
            _ => {}
        }
    }
    let items = turn.await.into_answer()?;
    println!("{:>10} │ {} items", "you", items.len());
    Ok(())
}
