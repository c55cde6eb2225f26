//! A chat with memory, in five lines: each turn sees the earlier messages, which are in the storage.
//!
//! Runs offline: `cargo run -p turnwright --example conversation`

use turnwright::Error;
use turnwright::Message;
use turnwright::prelude::*;
use turnwright::record::Author;

/// A stand-in for a model: it knows only what it is shown, which is the complete conversation.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let messages = ctx.records().all::<Message>();
    let by_user = messages
        .iter()
        .filter(|message| *message.author() == Author::User);
    let mut named = by_user.filter_map(|message| message.text().strip_prefix("My name is "));
    let answer = match (named.next_back(), messages.len()) {
        (Some(name), 1) => format!("Hello, {name}"),
        (Some(name), seen) => format!("{name} (after {seen} messages)"),
        (None, _) => "We have not met".to_owned(),
    };
    ctx.answer(answer).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let storage = Storage::memory();

    // The five lines:
    let runner = turnwright::runner(model).storage(storage.clone()).build()?;
    let mut chat = runner.conversation("chat-1");
    for says in ["My name is Ada", "What is my name?"] {
        let answer = chat.say(says).await.into_answer()?;
        println!("chat-1 > {says}\n         {answer}");
    }

    // Another conversation of the same runner is independent.
    let mut other = runner.conversation("chat-2");
    let says = "What is my name?";
    let answer = other.say(says).await.into_answer()?;
    println!("chat-2 > {says}\n         {answer}");

    // The messages are in the storage: another runner, or another process with a persistent storage, continues the
    // conversation.
    let later = turnwright::runner(model).storage(storage).build()?;
    let mut chat = later.conversation("chat-1");
    println!("chat-1 > {says}, read as it is said");
    let mut turn = chat.start(says);
    while let Some(event) = turn.next().await {
        if let EventKind::MessageDelta(delta) = event.kind {
            println!("         {}", delta.text);
        }
    }
    turn.await.into_answer()?;
    Ok(())
}
