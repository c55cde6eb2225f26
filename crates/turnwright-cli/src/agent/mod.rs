//! Who answers: a model on a server, with its tools. A chat and a turn that is taken up again have the same.

mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use turnwright::RecordKind;
use turnwright::middleware::hydrate;
use turnwright::prelude::*;
use turnwright::unknown::ask_somebody;
use turnwright_testkit::cassette::Cassette;

pub(crate) use server::{Server, is_address};

use crate::args;
use crate::exit::misuse;
use crate::kept::{About, Keeping};

/// What the model is told about its task where nobody says anything else.
const SYSTEM: &str = "You talk to somebody at a terminal. Be brief and exact, and write plain text without markup. \
    Use your tools where they help: look before you guess, and say what you could not find out.";

/// How long after a crash nobody else may go on.
const LEASE: Duration = Duration::from_secs(10);

/// What is sent of a conversation: all but what a chat has noted about it.
const SENT: [RecordKind; 5] = [
    RecordKind::Instruction,
    RecordKind::Retrievable,
    RecordKind::Message,
    RecordKind::Thought,
    RecordKind::ToolCall,
];

/// A model, and what it may do.
pub(crate) struct Agent {
    pub(crate) told: args::Agent,
    /// The folder that it may read.
    pub(crate) folder: PathBuf,
    pub(crate) tools: Vec<Tool>,
    pub(crate) server: Server,
    model: ChatCompletions,
}

impl Agent {
    /// Looks for the model. What goes over the wire is recorded in this file, if one is named.
    pub(crate) async fn find(
        told: args::Agent,
        own: Vec<Tool>,
        record: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let folder = existing(told.folder.as_deref().unwrap_or(Path::new(".")))?;
        let tools = crate::toolbox::gather(&folder, !told.no_fetch, own, &told.own.files)?;
        let server = Server::find(&told).await?;
        let model = server.model();
        let model = match record {
            Some(file) => model.transport(Cassette::record(file, server.client()?)?),
            None => model,
        };
        let model = model
            .system_prompt(told.system.as_deref().unwrap_or(SYSTEM))
            .build()
            .map_err(|error| misuse(error.with_causes()))?;
        Ok(Agent {
            told,
            folder,
            tools,
            server,
            model,
        })
    }

    /// What runs its turns; in what is kept, if something is.
    pub(crate) async fn runner(&self, keeping: Option<&Keeping>) -> anyhow::Result<TurnRunner> {
        let last = self.told.last.unwrap_or(usize::MAX);
        let runner = turnwright::runner(self.model.clone())
            .turn_input(hydrate().kinds(SENT).last(last))
            .tools(self.tools.clone())
            .policy(before_writes("it may change something"));
        let runner = match keeping {
            None => runner,
            Some(keeping) => runner
                .lease(LEASE)
                .unknown_calls(ask_somebody())
                // A file that somebody handed over approves nothing.
                .recall_answers(!keeping.place.is_named())
                .spool(keeping.spool.clone())
                .secret(keeping.secret().await?)
                .store(keeping.store.clone()),
        };
        Ok(runner.build()?)
    }

    /// What a chat notes about a conversation with it.
    pub(crate) fn about(&self) -> About {
        let whole = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
        About {
            server: self.server.address(),
            partial: self.server.is_partial(),
            model: self.server.model_name().to_owned(),
            folder: self.folder.clone(),
            tools: self.told.own.files.iter().map(whole).collect(),
            system: self.told.system.clone(),
            no_fetch: self.told.no_fetch,
        }
    }

    /// What somebody should know before they begin.
    pub(crate) fn cares(&self) -> Vec<String> {
        let mut cares = Vec::new();
        let home = etcetera::home_dir()
            .ok()
            .and_then(|home| home.canonicalize().ok());
        if self.folder.parent().is_none() || home.as_deref() == Some(&self.folder) {
            let text = "the model may read all files below this folder but hidden ones; --folder names a smaller one";
            cares.push(text.to_owned());
        }
        if self.server.sends_key_in_the_clear() {
            cares.push("the key goes to this server without encryption; use https".to_owned());
        }
        cares
    }
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
