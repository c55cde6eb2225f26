//! An executor without a model. It parses "convert 10 km to miles", runs tools on the same path as any model, and
//! streams its answer word by word.
//!
//! Runs offline: `cargo run -p turnwright --example custom_executor`

use std::io::Write as _;
use std::time::Duration;
use turnwright::Executor;
use turnwright::async_trait;
use turnwright::{Message, ToolCall};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnwright::prelude::*;

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Feet,
    Km,
    Metres,
    Miles,
}

impl Unit {
    fn in_metres(self) -> f64 {
        match self {
            Unit::Feet => 0.3048,
            Unit::Km => 1_000.0,
            Unit::Metres => 1.0,
            Unit::Miles => 1_609.344,
        }
    }
}

/// Converts a length.
#[tool(effects = "read_only")]
async fn convert(#[arg(min = 0)] amount: f64, from: Unit, to: Unit) -> String {
    let result = amount * from.in_metres() / to.in_metres();
    format!("{amount} {from:?} = {result:.2} {to:?}").to_lowercase()
}

/// Decides by the words of a sentence and knows nothing about units: that is the tool's contract.
struct Rules;

#[async_trait]
impl Executor for Rules {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        let input = ctx
            .records()
            .all::<Message>()
            .last()
            .map(|message| message.text().to_owned());
        let input = input.unwrap_or_default();
        let calls = ctx.records().all::<ToolCall>();
        if calls.is_empty() {
            let wishes: Vec<Value> = input.split(" and ").filter_map(conversion).collect();
            if wishes.is_empty() {
                // Ends the dispatch; the caller gets the reason.
                ctx.nack("say for example: convert 10 km to miles")?;
                return Ok(());
            }
            // Runs them concurrently. Every result, including a rejection, becomes a record, and the next iteration
            // sees it.
            ctx.call_tools(wishes.into_iter().map(|args| ctx.propose("convert", args)))
                .await;
            return Ok(());
        }

        let mut answer = ctx.reporter().message();
        for call in calls {
            let result = call.text().await.unwrap_or_default();
            let sentence = if call.is_error() {
                format!("I cannot do that. {result}\n")
            } else {
                format!("That is {result}.\n")
            };
            for word in sentence.split_inclusive(' ') {
                // Waits for a slow reader; continues if there is none.
                answer.push(word).await;
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        }
        answer.finish().await?;
        ctx.ack()?;
        Ok(())
    }

    fn name(&self) -> &str {
        "rules"
    }
}

/// Parses `10 km to miles`, with any words before it. The number stays text: the check repairs it if that is safe,
/// and reports everything else.
fn conversion(words: &str) -> Option<Value> {
    let words: Vec<&str> = words.split_whitespace().collect();
    match words.as_slice() {
        [.., amount, from, "to", to] => Some(json!({ "amount": amount, "from": from, "to": to })),
        _ => None,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runner = turnwright::runner(Rules).tool(convert()).build()?;
    for says in [
        "convert 10 km to miles and 6 feet to metres",
        "convert 3 miles to parsecs and -1 km to feet",
        "sing me a song",
    ] {
        println!("> {says}");
        let mut turn = runner.start(says);
        while let Some(event) = turn.next().await {
            match event.kind {
                EventKind::ToolCall(call) => {
                    println!("  · {}({})", call.tool(), call.args().to_value());
                }
                EventKind::MessageDelta(delta) => {
                    print!("{}", delta.text);
                    std::io::stdout().flush()?;
                }
                _ => {}
            }
        }
        let outcome = turn.await;
        match outcome.error() {
            None => println!("  · answered in {} iterations\n", outcome.iterations),
            Some(error) => println!("  · {}: {error}\n", outcome.status.as_str()),
        }
    }
    Ok(())
}
