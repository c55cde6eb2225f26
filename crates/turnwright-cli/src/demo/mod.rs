//! `turnwright demo`: a complete turn without network and API key.

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

const TASK: &str = "You operate the servers of a shop. Find the cause before you change anything.";

pub(crate) async fn run(options: &Demo, mut screen: Screen) -> anyhow::Result<Exit> {
    let attended = screen.is_interactive();
    let mut storage = None;
    if options.store.is_some() {
        let store = StoreFile {
            store: options.store.clone(),
            results: None,
        };
        screen.busy("opening the database");
        let open = Storage::open(&store).await?;
        // Reads the database before the demo starts, so that damage is found now.
        open.store.find_turns(&TurnFilter::all()).await?;
        storage = Some(open);
    }
    let server = model::serve(attended).await?;
    let runner = runner(&server, storage.as_ref()).await?;
    let asked = attended && !options.yes;
    let person = asked.then(|| Editor::open(None)).transpose()?;
    let approval_prompt = ApprovalPrompt::new(options.yes, person);
    let mut show = Show::new(screen, approval_prompt).markdown(true);
    print_intro(&mut show.screen)?;
    let began = Instant::now();
    let input = match &storage {
        None => TurnInput::new(QUESTION).turn_id("last-night"),
        // Each run is a separate conversation. Ids differ at their end.
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
        // It was printed already, and nothing was stored.
        return Ok(Exit::No);
    }
    show.screen.busy("counting the tokens of the raw output");
    let cost = cost::Cost::of(&shown, &show.tally, &server, took).await;
    show.screen.value(&cost)?;
    cost.show(&mut show.screen)?;
    print_hint(&mut show.screen, storage.as_ref(), &shown).await?;
    Ok(shown.exit())
}

/// Closes the database and prints how to look at the turn.
async fn print_hint(
    screen: &mut Screen,
    storage: Option<&Storage>,
    shown: &Shown,
) -> anyhow::Result<()> {
    let Some(storage) = storage else {
        return Ok(());
    };
    storage.store.close().await?;
    let (id, option) = (&shown.outcome.turn_id, storage.place.option());
    screen.line("")?;
    screen.dim(format!(
        "Stored. Look at it with `turnwright turns show {id}{option}`"
    ))?;
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
        .policy(before_writes("it changes something in production"));
    let runner = match storage {
        None => runner,
        Some(storage) => runner.storage(storage.of_runner().await?),
    };
    Ok(runner.build()?)
}

fn print_intro(screen: &mut Screen) -> std::io::Result<()> {
    let about = "The model is a script on a local server. Everything else is real: HTTP, streaming, calls, artifacts, envelopes, \
        approval.";
    let width = screen.width();
    screen.painted(style::DIM, wrap(about, width, ""))?;
    let question = paint(style::BOLD, wrap(QUESTION, width, ""));
    screen.line(format_args!("\n{question}\n"))
}
