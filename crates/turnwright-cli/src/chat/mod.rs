//! `turnwright chat`: a conversation with a model server, kept between runs.

mod commands;
mod kept;
mod records;
mod server;
mod session;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::json;
use turnwright::Tool;
use turnwright_testkit::cassette::Cassette;

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
    let model = server.model();
    let model = match &told.record {
        Some(file) => model.transport(Cassette::record(file, server.client()?)?),
        None => model,
    };
    let model = model
        .system_prompt(told.system.as_deref().unwrap_or(SYSTEM))
        .build()
        .map_err(|error| misuse(error.with_causes()))?;
    let name = match &told.conversation {
        Some(name) => name.clone(),
        None => usual_name(&folder, &server.address()),
    };
    let kept = match told.forget {
        true => None,
        false => Some(Kept::open(&Home::find()?, &name)?),
    };
    if let Some(kept) = kept.as_ref().filter(|_| !told.new) {
        kept.check_server(&server.address())?;
    }
    // Last: what cannot be begun leaves everything as it is.
    let set_aside = match &kept {
        Some(kept) if told.new => kept.set_aside()?,
        _ => None,
    };
    if let Some(kept) = &kept {
        kept.note_server(&server.address())?;
    }
    let session = Session {
        told,
        name,
        cares: cares(&folder, &server),
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

/// The conversation of a folder with a server: what was said to one is never sent to another unasked.
fn usual_name(folder: &Path, server: &str) -> String {
    let whose = json!({ "folder": folder.to_string_lossy(), "server": server });
    let digest = turnwright::call_id_of_value("chat", &whose);
    let plain = |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let folder: String = folder.chars().filter(plain).take(24).collect();
    let digest = digest.get(..8).unwrap_or(&digest);
    match folder.is_empty() {
        true => digest.to_owned(),
        false => format!("{folder}-{digest}"),
    }
}

/// What somebody should know before they begin.
fn cares(folder: &Path, server: &Server) -> Vec<String> {
    let mut cares = Vec::new();
    let home = etcetera::home_dir()
        .ok()
        .and_then(|home| home.canonicalize().ok());
    if folder.parent().is_none() || home.as_deref() == Some(folder) {
        let text = "the model may read all files below this folder but hidden ones; --folder names a smaller one";
        cares.push(text.to_owned());
    }
    if server.sends_key_in_the_clear() {
        cares.push("the key goes to this server without encryption; use https".to_owned());
    }
    cares
}

#[cfg(test)]
mod naming {
    use super::*;

    #[test]
    fn each_folder_has_a_conversation_with_each_server() {
        let name = |folder: &str, server: &str| usual_name(Path::new(folder), server);
        let here = name("/a/shop", "http://127.0.0.1:1/v1");
        assert!(here.starts_with("shop-") && here.len() == 13, "{here}");
        assert_eq!(here, name("/a/shop", "http://127.0.0.1:1/v1"));
        assert_ne!(here, name("/b/shop", "http://127.0.0.1:1/v1"));
        assert_ne!(here, name("/a/shop", "http://127.0.0.1:2/v1"));
        assert_eq!(name("/", "x").len(), 8);
        assert!(name("/a/Grüße & so", "x").starts_with("Greso-"));
    }
}
