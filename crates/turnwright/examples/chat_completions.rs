//! A model server with the Chat Completions protocol: one address, with streaming and tools.
//!
//! Runs offline, against a scripted server on loopback: `cargo run -p turnwright --example chat_completions`
//!
//! Runs against your own server if the environment configures one (`OPENAI_BASE_URL`, `OPENAI_API_KEY`,
//! `OPENAI_MODEL`): `OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_MODEL=qwen3 cargo run -p turnwright --example
//! chat_completions`

use std::io::Write as _;

use turnwright::prelude::*;
use turnwright_testkit::server::Server;
use turnwright_testkit::server::model::{self, Script};

/// The weather in a city.
#[tool(effects = "read_only", timeout_secs = 5)]
async fn weather(
    /// The city.
    #[arg(min_length = 2)]
    city: &str,
) -> String {
    format!("{city}: 17 degrees, light rain")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // Keeps the server alive until the end of the example.
    let named = |name: &str| std::env::var_os(name).is_some();
    let (model, _server) = if named("OPENAI_BASE_URL") || named("OPENAI_API_KEY") {
        (ChatCompletions::from_env().build()?, None)
    } else {
        let server = scripted().await?;
        let url = format!("{}/v1", server.url());
        let model = ChatCompletions::builder(url).model("scripted").no_proxy();
        (model.build()?, Some(server))
    };
    let runner = turnwright::runner(model).tool(weather()).build()?;

    println!("> Do I need an umbrella in Bern or in Rome?");
    let (turn, mut events) = runner
        .start("Do I need an umbrella in Bern or in Rome?")
        .split();
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::MessageDelta(delta) => {
                print!("{}", delta.text);
                std::io::stdout().flush()?;
            }
            EventKind::ToolExecutionStart { tool, args, .. } => println!("  {tool} {args}"),
            EventKind::ToolCall(call) => {
                println!("  = {}", call.text().await.unwrap_or_default());
            }
            _ => {}
        }
    }
    let outcome = turn.outcome().await;
    println!();
    let used = outcome.usage;
    println!(
        "\n{} requests, {} input tokens ({} of them cached), {} output tokens",
        used.requests, used.input_tokens, used.cached_input_tokens, used.output_tokens
    );
    if let Some(error) = outcome.error() {
        // The reason, and what to do about it.
        eprintln!("{}", error.with_causes());
        std::process::exit(1);
    }
    Ok(())
}

/// Starts a scripted model server: two calls at once, then an answer in twelve pieces.
async fn scripted() -> std::io::Result<Server> {
    let asks = model::calls([
        ("call_1", "weather", r#"{"city": "Bern"}"#),
        ("call_2", "weather", r#"{"city": "Rome"}"#),
    ]);
    let answers = model::text("Take one: it rains a little in Bern, and in Rome too.", 12);
    Script::new([asks.usage(210, 40), answers.usage(300, 16)])
        .serve()
        .await
}
