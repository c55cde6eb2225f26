//! `turnwright doctor`: checks what an agent needs.

mod compiler;
mod model;
mod report;

use std::io::{self, IsTerminal as _};

use turnwright::store::{ConversationFilter, Store as _};

use crate::args;
use crate::exit::Exit;
use crate::storage::{Storage, StorageLocation, explain};
use crate::terminal::{Screen, is_dumb, with_colour};
use crate::units::plural;
pub(crate) use report::{Check, Status, print};

/// Runs all checks. `own_model`: the program has an executor, so that no server is needed.
pub(crate) async fn run(
    options: args::Doctor,
    own_model: bool,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    screen.busy("checking the compilers");
    let mut checks = vec![compiler::rust().await, compiler::c().await];
    if own_model {
        checks.push(Check::ok("model", "the program has its own model"));
    } else {
        screen.busy("checking the model server");
        checks.extend(model::checks(&options).await);
    }
    screen.busy("checking the store");
    checks.push(store(&options.storage).await);
    checks.push(terminal());
    print(&checks, &mut screen)
}

/// The database of conversations. It is only read: nothing is created or changed.
async fn store(options: &args::StoreFile) -> Check {
    match inspect(options).await {
        Ok(found) => Check::ok("store", found),
        Err(error) => {
            let fix = "follow the advice above, or pass another file with --store FILE";
            Check::fail("store", format!("{:#}", explain(error)), fix)
        }
    }
}

async fn inspect(options: &args::StoreFile) -> anyhow::Result<String> {
    let file = StorageLocation::of(options)?.file;
    let file = file.display();
    let Some(storage) = Storage::open_if_there(options).await? else {
        return Ok(format!("{file} does not exist yet; `chat` creates it"));
    };
    let all = ConversationFilter::all();
    let conversations = storage.store.conversations(&all).await?.len() as u64;
    storage.store.close().await?;
    Ok(format!("{file}, {}", plural(conversations, "conversation")))
}

fn terminal() -> Check {
    if !io::stdout().is_terminal() {
        return Check::ok(
            "terminal",
            "the output is not a terminal: answers are raw text, and calls that need approval are denied",
        );
    }
    if is_dumb() {
        let term = std::env::var("TERM").unwrap_or_default();
        return Check::warn(
            "terminal",
            format!("TERM={term} supports no line editing and no Markdown"),
            "set TERM to the type of your terminal, for example xterm-256color",
        );
    }
    let columns = Screen::new(false).columns();
    let colour = if with_colour(&io::stdout()) {
        "colour"
    } else {
        "no colour"
    };
    if io::stdin().is_terminal() {
        Check::ok("terminal", format!("{columns} columns, {colour}"))
    } else {
        Check::warn(
            "terminal",
            "the input is not a terminal: approvals cannot be asked for",
            "run `chat` without redirecting its input",
        )
    }
}
