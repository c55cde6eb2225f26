//! `turnwright tools call`: a turn that consists of one call.

mod account;
mod json_output;
mod text_output;

use std::io::IsTerminal as _;
use std::sync::Arc;

use turnwright::ToolCall;
use turnwright::gate::OpenGate;
use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;

use crate::args::ToolsCall;
use crate::exit::Exit;
use crate::extensions::Settings;
use crate::show::{Viewer, follow};
use crate::terminal::{ApprovalPrompt, Editor, Screen};
use crate::{agent, text};
use account::Account;

/// A call as it is seen.
struct View {
    screen: Screen,
    account: Arc<Account>,
    /// Whether it was said already which call it is.
    is_named: bool,
    /// Whether all of a large result is written.
    raw: bool,
}

impl View {
    fn new(screen: Screen, raw: bool) -> Self {
        // Where a program reads, it reads all of it.
        let raw = raw || !std::io::stdout().is_terminal();
        View {
            screen,
            raw,
            account: Arc::default(),
            is_named: false,
        }
    }

    /// What keeps what is told of it.
    fn account(&self) -> Arc<Account> {
        Arc::clone(&self.account)
    }

    /// What came of it.
    async fn end(&mut self, call: &ToolCall) -> anyhow::Result<()> {
        let facts = self.account.facts();
        match self.screen.is_json() {
            true => {
                let options = json_output::render(call, facts).await?;
                self.screen.value(&options)
            }
            false => self.print_result(call, &facts).await,
        }
    }
}

pub(super) async fn run(
    tool: &Tool,
    options: &ToolsCall,
    settings: Settings,
    screen: Screen,
) -> anyhow::Result<Exit> {
    let arguments = text::given(&options.arguments, text::ARGUMENTS)?;
    let asked = screen.is_attended() && !options.yes;
    let person = asked.then(|| Editor::open(None)).transpose()?;
    let approval_prompt = ApprovalPrompt::new(options.yes, person);
    let runner = settings.apply(runner(tool, arguments));
    let runner = runner.policy(agent::asks_before_writes()).build()?;
    let mut view = View::new(screen, options.raw);
    let account = view.account();
    let turn = runner.start(TurnInput::empty().observer(move |event| account.note(event)));
    let shown = follow(turn, &approval_prompt, &mut view).await?;
    view.screen.rest();
    let (outcome, interrupted) = (shown.outcome, shown.interrupted);
    let Some(call) = outcome.tool_calls().next() else {
        // Somebody called it off before there was anything to tell.
        return match (interrupted, outcome.error()) {
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
fn runner(tool: &Tool, arguments: String) -> TurnRunnerBuilder {
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
    .without_artifact_tools()
}

impl Viewer for View {
    fn screen(&mut self) -> &mut Screen {
        &mut self.screen
    }

    async fn event(&mut self, event: TurnEvent, called_off: bool) -> anyhow::Result<()> {
        match called_off || self.screen.is_json() {
            true => Ok(()),
            false => Ok(self.print_event(&event)?),
        }
    }

    fn before_question(&mut self, _: &Arc<OpenGate>) -> anyhow::Result<()> {
        Ok(())
    }

    fn called_off(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
