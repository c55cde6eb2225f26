//! Approval in a terminal: a person sees the call with its arguments and says yes, no, or what else it should be.
//!
//! Runs offline: `cargo run -p turnwright --example approval`; with `-- --yes` nobody is asked. Where there is no terminal
//! nobody can be asked, and that is a no: `cargo run -p turnwright --example approval < /dev/null`

use std::io::{IsTerminal as _, Write as _};
use turnwright::approval::Approver;
use turnwright::async_trait;

use serde_json::json;
use tokio::sync::{Mutex, mpsc};
use turnwright::Error;
use turnwright::approval::{Approval, ApprovalRequest, PendingCall, when};
use turnwright::prelude::*;

/// Transfers money.
#[tool(effects = "writes")]
async fn transfer(
    /// Who gets it.
    #[arg(min_length = 1)]
    to: &str,
    /// How much.
    #[arg(min = 1, max = 50_000)]
    cents: u32,
) -> String {
    format!("{to} has {cents} cents more")
}

/// Whoever sits at the terminal. One question at a time, also where several calls wait.
struct Terminal(Mutex<mpsc::UnboundedReceiver<String>>);

impl Terminal {
    /// A thread reads: a line that nobody types blocks neither the runtime nor its end.
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
    async fn ask(&self, request: ApprovalRequest) -> Approval {
        let mut typed = self.0.lock().await;
        // What was typed before the question is no answer to it.
        while typed.try_recv().is_ok() {}
        // A model wrote the arguments: a terminal must not show one thing and mean another.
        let (tool, args) = (&request.tool, request.shown_args());
        println!("\n  may {} run with {args}?", tool.name());
        println!("  you are asked because {}", request.reason);
        loop {
            let answer = prompt(&mut typed, "  y(es), n(o), e(dit): ").await;
            match answer.as_deref() {
                Some("y") => return Approval::Granted,
                Some("n") => return Approval::denied("the person said no"),
                Some("e") => {
                    let text = prompt(&mut typed, "  arguments as JSON: ").await;
                    // Whoever edits learns here what the contract would refuse.
                    match tool.validate(text.unwrap_or_default()).await {
                        Ok(args) => return Approval::edited(args.into_value()),
                        Err(error) => println!("  that does not fit: {}", error.message()),
                    }
                }
                Some(_) => {}
                None => return Approval::denied("nobody is there any more"),
            }
        }
    }
}

async fn prompt(typed: &mut mpsc::UnboundedReceiver<String>, words: &str) -> Option<String> {
    print!("{words}");
    std::io::stdout().flush().ok()?;
    Some(typed.recv().await?.trim().to_owned())
}

/// In the place of a model: two transfers at once, and a look at what came of them.
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

/// Small sums pass. Everything else is asked: of `approver`, whose answer counts once, for this call and these arguments.
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
        println!("everybody said yes beforehand");
        pay(|_: ApprovalRequest| async { Approval::Granted }).await?;
    } else if std::io::stdin().is_terminal() {
        println!("there is a terminal, and somebody at it");
        pay(Terminal::open()).await?;
    } else {
        println!("there is no terminal, and no answer is a no");
        pay(|_: ApprovalRequest| async { Approval::denied("there is no terminal to ask at") })
            .await?;
    }

    println!("\nan edit that breaks the contract reaches no handler either");
    pay(|_: ApprovalRequest| async { Approval::edited(json!({ "to": "", "cents": 99_000 })) }).await
}
