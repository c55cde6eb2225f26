//! Approval in a terminal: a person sees the call with its arguments and approves, denies or edits it.
//!
//! Runs offline: `cargo run -p turnwright --example approval`. With `-- --yes` every call is approved without asking.
//! Without a terminal every request is denied: `cargo run -p turnwright --example approval < /dev/null`

use std::io::{IsTerminal as _, Write as _};
use turnwright::approval::Approver;
use turnwright::async_trait;

use serde_json::json;
use tokio::sync::{Mutex, mpsc};
use turnwright::Error;
use turnwright::approval::{ApprovalRequest, GateAnswer, PendingCall, when};
use turnwright::prelude::*;

/// Transfers money.
#[tool(effects = "writes")]
async fn transfer(
    /// The recipient.
    #[arg(min_length = 1)]
    to: &str,
    /// The amount in cents.
    #[arg(min = 1, max = 50_000)]
    cents: u32,
) -> String {
    format!("{to} has {cents} cents more")
}

/// The person at the terminal. Asks one question at a time, even if several calls wait.
struct Terminal(Mutex<mpsc::UnboundedReceiver<String>>);

impl Terminal {
    /// Reads on a separate thread: waiting for input blocks neither the runtime nor its shutdown.
    fn open() -> Self {
        let (lines, typed) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        Terminal(Mutex::new(typed))
    }
}

#[async_trait]
impl Approver for Terminal {
    async fn ask(&self, request: ApprovalRequest) -> GateAnswer {
        let mut typed = self.0.lock().await;
        // Input that was typed before the question is not an answer to it.
        while typed.try_recv().is_ok() {}
        // A model wrote the arguments: invisible characters must not mislead the reader.
        let (tool, args) = (&request.tool, request.shown_args());
        println!("\n  run {} with {args}?", tool.name());
        println!("  approval is required because {}", request.reason);
        loop {
            let answer = prompt(&mut typed, "  y(es), n(o), e(dit): ").await;
            match answer.as_deref() {
                Some("y") => return GateAnswer::approve(),
                Some("n") => return GateAnswer::deny("the user denied it"),
                Some("e") => {
                    let text = prompt(&mut typed, "  arguments as JSON: ").await;
                    // The edited arguments are validated here, before they are returned.
                    match tool.validate(text.unwrap_or_default()).await {
                        Ok(args) => return GateAnswer::edit(args.into_value()),
                        Err(error) => println!("  invalid arguments: {}", error.message()),
                    }
                }
                Some(_) => {}
                None => return GateAnswer::deny("the terminal was closed"),
            }
        }
    }
}

async fn prompt(typed: &mut mpsc::UnboundedReceiver<String>, words: &str) -> Option<String> {
    print!("{words}");
    std::io::stdout().flush().ok()?;
    Some(typed.recv().await?.trim().to_owned())
}

/// A stand-in for a model: proposes two transfers at once, then reads the results.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let wanted = [("Ada", 400), ("Bob", 45_000)];
    let propose = |(to, cents)| ctx.propose("transfer", json!({ "to": to, "cents": cents }));
    for call in ctx.call_tools(wanted.map(propose)).await {
        let text = call.text().await.unwrap_or_default();
        let mark = if call.is_error() { '✗' } else { '✓' };
        println!("  {mark} {}", text.replace('\n', "\n    "));
    }
    ctx.ack()?;
    Ok(())
}

/// Small amounts pass. For everything else `approver` is asked. Its answer is valid once, for this call and these
/// arguments.
async fn pay(approver: impl Approver + 'static) -> Result<(), Error> {
    let large = |call: &PendingCall<'_>| call.args()["cents"].as_u64() > Some(1_000);
    let runner = turnwright::runner(model)
        .tool(transfer())
        .policy(when(large, "it is more than 10 euros"))
        .approver(approver)
        .build()?;
    runner.run("Pay Ada and Bob.").await.into_answer().map(drop)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    if std::env::args().any(|arg| arg == "--yes") {
        println!("every call is approved in advance");
        pay(|_: ApprovalRequest| async { GateAnswer::approve() }).await?;
    } else if std::io::stdin().is_terminal() {
        println!("asking at the terminal");
        pay(Terminal::open()).await?;
    } else {
        println!("there is no terminal, so every request is denied");
        pay(|_: ApprovalRequest| async { GateAnswer::deny("there is no terminal") }).await?;
    }

    println!("\nan invalid edit does not reach the handler either");
    pay(|_: ApprovalRequest| async { GateAnswer::edit(json!({ "to": "", "cents": 99_000 })) }).await
}
