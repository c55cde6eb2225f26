//! `turnwright tools call`: a turn that consists of one call.

mod account;
mod machines;
mod people;

use std::sync::Arc;

use turnwright::ToolCall;
use turnwright::prelude::*;

use crate::args::ToolsCall;
use crate::exit::Exit;
use crate::terminal::{Consent, Editor, Screen};
use crate::text;
use account::Account;

/// A call as it is seen.
struct View {
    screen: Screen,
    account: Arc<Account>,
    /// Whether it was said already which call it is.
    is_named: bool,
}

impl View {
    fn new(screen: Screen) -> Self {
        View {
            screen,
            account: Arc::default(),
            is_named: false,
        }
    }

    /// What keeps what is told of it.
    fn account(&self) -> Arc<Account> {
        Arc::clone(&self.account)
    }

    /// What goes on while it runs.
    fn follow(&mut self, event: &TurnEvent) -> std::io::Result<()> {
        match self.screen.is_json() {
            true => Ok(()),
            false => self.follow_for_people(event),
        }
    }

    /// What came of it.
    async fn end(&mut self, call: &ToolCall) -> anyhow::Result<()> {
        let facts = self.account.facts();
        match self.screen.is_json() {
            true => {
                let told = machines::told(call, facts).await?;
                self.screen.value(&told)
            }
            false => self.end_for_people(call, &facts).await,
        }
    }
}

pub(super) async fn run(tool: &Tool, told: &ToolsCall, screen: Screen) -> anyhow::Result<Exit> {
    let arguments = text::given(&told.arguments, "the arguments")?;
    let consent = if told.yes {
        Consent::Given
    } else if screen.is_attended() {
        Consent::Person(Editor::open(None)?)
    } else {
        Consent::Nobody
    };
    let runner = runner(tool, arguments)?;
    let mut view = View::new(screen);
    let (outcome, interrupted) = turn(&runner, &consent, &mut view).await?;
    let Some(call) = outcome.tool_calls().next() else {
        // Somebody called it off before there was anything to tell.
        return match (interrupted, outcome.ended.error()) {
            (true, _) | (false, None) => Ok(Exit::Interrupted),
            (false, Some(error)) => Err(error.into()),
        };
    };
    view.end(call).await?;
    Ok(
        match (interrupted, call.is_error() || !call.is_complete()) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::No,
            (false, false) => Exit::Done,
        },
    )
}

/// In the place of a model: one call, and no word about it.
fn runner(tool: &Tool, arguments: String) -> Result<TurnRunner, Error> {
    let name = tool.name().to_owned();
    turnwright::runner(move |ctx: DispatchContext| {
        let (name, arguments) = (name.clone(), arguments.clone());
        async move {
            ctx.call(name, arguments).await;
            ctx.ack()?;
            Ok(())
        }
    })
    .tool(tool.clone())
    .policy(when(
        |call: &PendingCall<'_>| call.tool().effects() != Effects::ReadOnly,
        "it may change something",
    ))
    .without_artifact_tools()
    .build()
}

/// The turn to its end, and whether somebody called it off.
async fn turn(
    runner: &TurnRunner,
    consent: &Consent,
    view: &mut View,
) -> anyhow::Result<(TurnOutcome, bool)> {
    let account = view.account();
    let input = TurnInput::empty().observer(move |event| account.note(event));
    let mut turn = runner.start(input);
    let mut interrupted = false;
    loop {
        tokio::select! {
            event = turn.next() => match event {
                None => break,
                Some(TurnEvent::GateOpened(gate)) => {
                    let gates = turn.gates();
                    if !consent.answer(&mut view.screen, &gate, &gates).await? {
                        interrupted = true;
                        turn.cancel();
                    }
                }
                Some(event) => view.follow(&event)?,
            },
            signal = tokio::signal::ctrl_c() => {
                signal?;
                if interrupted {
                    // Asked twice: whoever does that does not want to wait.
                    std::process::exit(130);
                }
                interrupted = true;
                turn.cancel();
            }
        }
    }
    view.screen.rest();
    Ok((turn.outcome().await, interrupted))
}
