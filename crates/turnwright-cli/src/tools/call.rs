//! `turnwright tools call`: a turn with one call.

mod json_output;
mod text_output;

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use turnwright::Event;
use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;
use turnwright::schema::{Fault, Repair};

use crate::args::CallOptions;
use crate::exit::Exit;
use crate::extensions::{Setting, apply};
use crate::show::{Viewer, follow};
use crate::terminal::{ApprovalPrompt, Editor, Screen};
use crate::{agent, text};

/// What is known about a call.
#[derive(Clone, Default)]
struct Facts {
    /// The checksum of the call.
    checksum: Option<String>,
    /// All events as JSON.
    events: Vec<Value>,
    /// The arguments that ran.
    args: Option<Value>,
    repairs: Vec<Repair>,
    faults: Vec<Fault>,
    /// The error code if it failed or did not run.
    code: Option<&'static str>,
    /// The error message for operators.
    message: Option<String>,
    took: Option<Duration>,
}

impl Facts {
    fn note(&mut self, event: &Event) {
        // Every event can be serialized.
        self.events.extend(serde_json::to_value(event).ok());
        match &event.kind {
            EventKind::ToolExecutionStart {
                checksum,
                args,
                repairs,
                ..
            } => {
                self.checksum = Some(checksum.to_string());
                self.args = Some((**args).clone());
                self.repairs = repairs.to_vec();
            }
            EventKind::ToolCallRefused {
                checksum,
                code,
                message,
                faults,
                ..
            } => {
                self.checksum = Some(checksum.to_string());
                self.code = Some(code);
                self.message = Some(message.clone());
                self.faults.clone_from(faults);
            }
            EventKind::ToolExecutionEnd {
                duration,
                code,
                message,
                ..
            } => {
                self.took = Some(*duration);
                self.code = *code;
                self.message.clone_from(message);
            }
            _ => {}
        }
    }
}

/// Shows the call.
struct View {
    screen: Screen,
    facts: Arc<Mutex<Facts>>,
    /// Whether the checksum and the arguments were printed.
    is_named: bool,
    /// Whether a large result is printed in full.
    raw: bool,
}

/// Calls a tool, and shows the call and its result.
pub(crate) async fn run(
    tool: &Tool,
    options: &CallOptions,
    settings: Vec<Setting>,
    screen: Screen,
) -> anyhow::Result<Exit> {
    let arguments = text::given(&options.arguments, text::ARGUMENTS)?;
    // Also with `--yes`, which does not answer questions of MCP servers.
    let person = screen.is_interactive().then(|| Editor::open(None));
    let person = person.transpose()?;
    let approval_prompt = ApprovalPrompt::new(options.yes, person);
    let runner = apply(settings, runner(tool, arguments));
    let runner = runner.policy(agent::asks_before_writes()).build()?;
    let facts = Arc::<Mutex<Facts>>::default();
    let mut view = View {
        screen,
        facts: Arc::clone(&facts),
        is_named: false,
        // In a pipe always.
        raw: options.raw || !std::io::stdout().is_terminal(),
    };
    let input = TurnInput::empty().observer(move |event| lock(&facts).note(event));
    let turn = runner.start(input);
    let shown = follow(turn, &approval_prompt, &mut view).await?;
    view.screen.rest();
    let (outcome, interrupted) = (shown.outcome, shown.interrupted);
    let Some(call) = outcome.tool_calls().next() else {
        // Cancelled before the call was recorded.
        return match (interrupted, outcome.error()) {
            (true, _) | (false, None) => Ok(Exit::Interrupted),
            (false, Some(error)) => Err(error.into()),
        };
    };
    let facts = lock(&view.facts).clone();
    if view.screen.is_json() {
        view.screen
            .value(&json_output::render(call, facts).await?)?;
    } else {
        view.print_result(call, &facts).await?;
    }
    Ok(
        match (interrupted, call.is_error() || !call.is_complete()) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::No,
            (false, false) => Exit::Done,
        },
    )
}

fn lock(facts: &Mutex<Facts>) -> MutexGuard<'_, Facts> {
    facts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An executor that makes one call and no message.
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
    .artifact_tools(None)
}

impl Viewer for View {
    fn screen(&mut self) -> &mut Screen {
        &mut self.screen
    }

    async fn event(&mut self, event: Event, cancelled: bool) -> anyhow::Result<()> {
        if cancelled || self.screen.is_json() {
            Ok(())
        } else {
            Ok(self.print_event(&event)?)
        }
    }
}
