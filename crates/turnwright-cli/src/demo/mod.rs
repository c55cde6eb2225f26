//! What broke last night: a turn that shows what the kit is for, offline.

mod cost;
mod incident;
mod model;
mod tools;

use std::time::Instant;
use turnwright::approval::before_writes;

use turnwright::prelude::*;
use turnwright::record::new_id;
use turnwright::store::Store as _;
use turnwright::store::TurnFilter;
use turnwright_testkit::server::Server;

use crate::args::{Demo, StoreFile};
use crate::exit::Exit;
use crate::show::{Show, Shown};
use crate::storage::{Storage, database_error};
use crate::terminal::style::{self, paint};
use crate::terminal::{ApprovalPrompt, Editor, Screen, wrap};

const QUESTION: &str =
    "Checkout failed for many customers last night. What broke, and what do we do?";

const TASK: &str = "You look after a shop's servers. Find the cause before you change anything.";

pub(crate) async fn run(options: &Demo, screen: Screen) -> anyhow::Result<Exit> {
    let attended = screen.is_attended();
    let mut storage = None;
    if options.store.is_some() {
        let store = StoreFile {
            store: options.store.clone(),
            results: None,
        };
        let open = Storage::open(&store).await?;
        // What is damaged is found by reading: before the demo, and not in the midst of it. One damaged record does not make
        // a file useless.
        open.store.find_turns(&TurnFilter::all()).await?;
        storage = Some(open);
    }
    let server = model::serve(attended).await?;
    let runner = runner(&server, storage.as_ref()).await?;
    let asked = attended && !options.yes;
    let person = asked.then(|| Editor::open(None)).transpose()?;
    let approval_prompt = ApprovalPrompt::new(options.yes, person);
    let mut show = Show::new(screen, approval_prompt);
    if !show.screen.is_json() {
        begin(&mut show.screen)?;
    }
    let began = Instant::now();
    let input = match &storage {
        None => TurnInput::new(QUESTION).turn_id("last-night"),
        // Each run is a conversation of its own. The end of an id is what differs.
        Some(_) => {
            let id = new_id();
            let end = id.rsplit('-').next().unwrap_or(&id);
            TurnInput::new(QUESTION).conversation(format!("demo-{end}"))
        }
    };
    let shown = show.turn(&runner, input).await?;
    let took = began.elapsed();
    if shown.interrupted {
        print_hint(&mut show.screen, storage.as_ref(), &shown).await?;
        return Ok(Exit::Interrupted);
    }
    let error = shown.outcome.error();
    if error.is_some_and(|error| database_error(&error).is_some()) {
        // It was said already, and nothing was stored that could be shown.
        return Ok(Exit::No);
    }
    show.screen
        .busy("counting what the raw output would have been");
    let cost = cost::Cost::of(&shown, &show.tally, &server, took).await;
    match show.screen.is_json() {
        true => show.screen.value(&cost)?,
        false => cost.show(&mut show.screen)?,
    }
    print_hint(&mut show.screen, storage.as_ref(), &shown).await?;
    Ok(shown.exit())
}

/// Closes what the turn is kept in, and says how to look at it.
async fn print_hint(
    screen: &mut Screen,
    storage: Option<&Storage>,
    shown: &Shown,
) -> anyhow::Result<()> {
    let Some(storage) = storage else {
        return Ok(());
    };
    storage.store.close().await?;
    if !screen.is_json() {
        let (id, option) = (&shown.outcome.turn_id, storage.place.option());
        screen.line("")?;
        screen.dim(format!(
            "The turn is kept: `turnwright turns show {id}{option}`"
        ))?;
    }
    Ok(())
}

async fn runner(server: &Server, storage: Option<&Storage>) -> anyhow::Result<TurnRunner> {
    let model = ChatCompletions::builder(format!("{}/v1", server.url()))
        .model("scripted")
        .no_proxy()
        .build()?;
    let runner = turnwright::runner(model)
        .instructions(TASK)
        .tools([
            tools::read_log(),
            tools::read_metrics(),
            tools::restart_service(),
        ])
        .policy(before_writes(
            "it changes something, and only you can allow that",
        ));
    let runner = match storage {
        None => runner,
        Some(storage) => runner.storage(storage.of_runner().await?),
    };
    Ok(runner.build()?)
}

fn begin(screen: &mut Screen) -> std::io::Result<()> {
    let about = "The model is a script on a server on this machine. The rest is real: HTTP, streaming, calls, artifacts, \
        fences, approval.";
    let width = screen.width();
    screen.painted(style::DIM, wrap(about, width, ""))?;
    let question = paint(style::BOLD, wrap(QUESTION, width, ""));
    screen.line(format_args!("\n{question}\n"))
}
