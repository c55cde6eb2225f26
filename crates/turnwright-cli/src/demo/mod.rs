//! What broke last night: a turn that shows what the kit is for, offline.

mod cost;
mod model;
mod night;
mod tools;

use std::time::Instant;

use turnwright::prelude::*;
use turnwright_testkit::server::Server;

use crate::args::Demo;
use crate::exit::Exit;
use crate::show::{Show, Shown};
use crate::terminal::style::{self, paint};
use crate::terminal::{Consent, Editor, Screen, wrap};

const QUESTION: &str =
    "Checkout failed for many customers last night. What broke, and what do we do?";

const TASK: &str = "You look after a shop's servers. Find the cause before you change anything.";

pub(crate) async fn run(told: &Demo, screen: Screen) -> anyhow::Result<Exit> {
    let attended = screen.is_attended();
    let server = model::serve(attended).await?;
    let runner = runner(&server)?;
    let consent = match (told.yes, attended) {
        (true, _) => Consent::Given,
        (false, true) => Consent::Person(Editor::open(None)?),
        (false, false) => Consent::Nobody,
    };
    let mut show = Show::new(screen, consent);
    if !show.screen.is_json() {
        begin(&mut show.screen)?;
    }
    let began = Instant::now();
    let shown = show
        .turn(&runner, TurnInput::new(QUESTION).turn_id("last-night"))
        .await?;
    if shown.interrupted {
        return Ok(Exit::Interrupted);
    }
    let took = began.elapsed();
    show.screen
        .busy("counting what the raw output would have been");
    let cost = cost::Cost::of(&shown, show.tally(), &server, took).await;
    match show.screen.is_json() {
        true => show.screen.value(&cost)?,
        false => cost.show(&mut show.screen)?,
    }
    Ok(exit(&shown))
}

fn exit(shown: &Shown) -> Exit {
    match (shown.interrupted, shown.outcome.is_answered()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::No,
    }
}

fn runner(server: &Server) -> anyhow::Result<TurnRunner> {
    let model = ChatCompletions::builder(format!("{}/v1", server.url()))
        .model("scripted")
        .system_prompt(TASK)
        .no_proxy()
        .build()?;
    let runner = turnwright::runner(model)
        .tools([
            tools::read_log(),
            tools::read_metrics(),
            tools::restart_service(),
        ])
        .policy(before_writes(
            "it changes something, and only you can allow that",
        ))
        .build()?;
    Ok(runner)
}

fn begin(screen: &mut Screen) -> std::io::Result<()> {
    let about = "The model is a script on a server on this machine. The rest is real: HTTP, streaming, calls, artifacts, \
        fences, approval.";
    let width = screen.width();
    screen.line(paint(style::DIM, wrap(about, width, "")))?;
    let question = paint(style::BOLD, wrap(QUESTION, width, ""));
    screen.line(format_args!("\n{question}\n"))
}
