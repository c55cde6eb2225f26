//! `turnwright chat`: a conversation with a model server, kept between runs.

mod commands;
mod kept;
mod records;
mod server;
mod session;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use turnwright::Tool;

use crate::args;
use crate::exit::{Exit, misuse};
use crate::terminal::{Screen, Signals, Told};

use kept::{Home, Kept};
use server::Server;
use session::Session;

/// What the model is told about its task where nobody says anything else.
const SYSTEM: &str = "You talk to somebody at a terminal. Be brief and exact, and write plain text without markup. \
    Use your tools where they help: look before you guess, and say what you could not find out.";

pub(crate) async fn run(
    told: args::Chat,
    own: Vec<Tool>,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    // From here on Ctrl-C is ours, whenever it comes.
    let mut signals = Signals::listen()?;
    let folder = existing(&told.folder)?;
    let tools = crate::toolbox::gather(&folder, !told.no_fetch, own, &told.own.files)?;
    screen.busy("looking for the model");
    let server = tokio::select! {
        server = Server::find(&told) => server,
        told = signals.next() => {
            screen.rest();
            return Ok(match told {
                Told::Interrupt => Exit::Interrupted,
                Told::Terminate => Exit::Done,
            });
        }
    };
    screen.rest();
    let server = server?;
    let model = server
        .model()
        .system_prompt(told.system.as_deref().unwrap_or(SYSTEM))
        .build()
        .map_err(|error| misuse(error.with_causes()))?;
    let kept = match told.forget {
        true => None,
        false => Some(Kept::open(&Home::find()?, &told.conversation)?),
    };
    // Last: what cannot be begun leaves everything as it is.
    let set_aside = match &kept {
        Some(kept) if told.new => kept.set_aside()?,
        _ => None,
    };
    let session = Session {
        told,
        folder,
        model,
        server: server.shown(),
        tools,
        kept,
        signals,
    };
    session.hold(screen, set_aside).await
}

fn existing(folder: &Path) -> anyhow::Result<PathBuf> {
    let shown = folder.display();
    let whole = folder
        .canonicalize()
        .map_err(|error| misuse(format!("the folder `{shown}` cannot be read: {error}")))?;
    match whole.is_dir() {
        true => Ok(whole),
        false => Err(misuse(format!("`{shown}` is no folder"))),
    }
}
