//! Middleware as onions: what stands before `next.run()` happens on the way in, what stands after it on the way out. One that
//! times, one that stops a turn, one that is ready made, one that forgot to go on; and an observer, which can only look.
//!
//! Runs offline: `cargo run -p turnwright --example middleware`

use std::sync::Arc;
use std::time::{Duration, Instant};
use turnwright::ToolCall;

use serde_json::json;
use turnwright::event::EventKind;
use turnwright::prelude::*;
use turnwright::record::Memory;
use turnwright::{Error, Message, Next};

/// Around the layers further in: those that the builder was given after it. How long a turn takes, its end tells: see below.
async fn timed(_: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
    let start = Instant::now();
    let went = next.run().await;
    // Also where a layer further in failed or stopped the turn.
    let took = start.elapsed().as_millis();
    println!("  timed   {took} ms for what is further in");
    went
}

/// Stops a turn before anything is asked of a model.
async fn guard(ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
    let messages = ctx.records().all::<Message>();
    let secret = |last: &&Arc<Message>| last.text().contains("password");
    let Some(last) = messages.last().filter(secret) else {
        return next.run().await;
    };
    println!("  guard   stops the turn, and forgets what was said");
    ctx.records().delete::<Message>(last.id()).await?;
    ctx.abort("somebody typed a password");
    Ok(())
}

/// Looks something up, and puts it before the model for this turn. Nothing is stored.
async fn profile(ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
    tokio::time::sleep(Duration::from_millis(25)).await;
    ctx.records().add(Memory::new("Lives in Oslo").build()?);
    next.run().await
}

/// Before the executor, in each iteration.
async fn announce(ctx: DispatchContext, next: Next<DispatchContext>) -> Result<(), BoxError> {
    let (messages, calls) = (
        ctx.records().all::<Message>().len(),
        ctx.records().all::<ToolCall>().len(),
    );
    let iteration = ctx.iteration();
    println!("  before  iteration {iteration}, messages: {messages}, calls: {calls}");
    next.run().await
}

/// A mistake that is easily made. It is not silent.
async fn forgetful(_: TurnContext, _next: Next<TurnContext>) -> Result<(), BoxError> {
    Ok(())
}

/// Weather of today.
#[tool(effects = "read_only")]
async fn weather(city: &str) -> String {
    format!("{city}: rain, 7 degrees")
}

/// In the place of a model: one call, then an answer.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    if ctx.iteration() == 1 {
        let known = ctx.records().all::<Memory>();
        let city = known
            .iter()
            .find_map(|message| message.text().strip_prefix("Lives in "));
        let args = json!({ "city": city.unwrap_or("Nowhere") });
        ctx.call("weather", args).await;
        return Ok(());
    }
    let calls = ctx.records().all::<ToolCall>();
    let last = calls.last().ok_or("no call was made")?;
    ctx.answer(last.text().await.unwrap_or_default()).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    // A runner loads the earlier turns of the conversation first.
    let runner = turnwright::runner(model)
        .tool(weather())
        .turn_input(timed)
        .turn_input(guard)
        .turn_input(profile)
        .dispatch_input(announce)
        .observer(|event| match &event.kind {
            EventKind::ToolExecutionEnd { tool, .. } => println!("  event   {tool} ran"),
            EventKind::Error { message, .. } => println!("  event   {message}"),
            EventKind::TurnEnd {
                status, duration, ..
            } => {
                println!("  event   {status} after {} ms", duration.as_millis());
            }
            _ => {}
        })
        .build()?;

    for says in ["Do I need a coat?", "And tomorrow?", "My password is tulip"] {
        println!("> {says}");
        let outcome = runner.run(TurnInput::new(says).conversation("coats")).await;
        match outcome.error() {
            None => println!("{}\n", outcome.text),
            Some(why) => println!("{why}\n"),
        }
    }

    println!("> a layer that neither goes on nor stops the turn");
    let broken = turnwright::runner(model).turn_input(forgetful).build()?;
    let outcome = broken.run("hello").await;
    if let Some(why) = outcome.error() {
        println!("{why}");
    }
    Ok(())
}
