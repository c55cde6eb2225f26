//! Who answers: a model on a server, with its tools. A chat and a turn that is taken up again have the same.

mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use turnwright::RecordKind;
use turnwright::middleware::hydrate;
use turnwright::prelude::*;
use turnwright::turn::TurnRunnerBuilder;
use turnwright::unknown::ask_somebody;
use turnwright_testkit::cassette::Cassette;

pub(crate) use server::{Server, is_address};

use crate::args;
use crate::exit::misuse;
use crate::kept::{About, Keeping};
use crate::own::{Own, OwnModel};
use crate::terminal::one_line;

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
    model: Model,
}

/// Where the model is.
enum Model {
    Server(Server),
    /// In this program, under the name of its executor and, if it has one, of its model.
    Own(String, Option<String>),
}

impl Agent {
    /// Looks for the model. What goes over the wire is recorded in this file, if one is named. The runner keeps nothing yet:
    /// see [`kept_in`].
    pub(crate) async fn find(
        told: args::Agent,
        own: Own,
        record: Option<&Path>,
    ) -> anyhow::Result<(Self, TurnRunnerBuilder)> {
        let folder = existing(told.folder.as_deref().unwrap_or(Path::new(".")))?;
        let tools = crate::toolbox::gather(&folder, !told.no_fetch, own.tools, &told.own.files)?;
        let (model, runner) = match own.model {
            Some(model) => own_model(model, &told, record)?,
            None => server_model(&told, record).await?,
        };
        let last = told.last.unwrap_or(usize::MAX);
        let runner = own
            .settings
            .apply(runner.turn_input(hydrate().kinds(SENT).last(last)))
            .tools(tools.clone())
            .policy(asks_before_writes());
        let agent = Agent {
            told,
            folder,
            tools,
            model,
        };
        Ok((agent, runner))
    }

    /// What a chat notes about a conversation with it.
    pub(crate) fn about(&self) -> About {
        let whole = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
        let (partial, model) = match &self.model {
            Model::Server(server) => (server.is_partial(), server.model_name()),
            // There is nothing that could be dialled.
            Model::Own(name, model) => (true, model.as_ref().unwrap_or(name).as_str()),
        };
        About {
            server: self.address(),
            partial,
            model: model.to_owned(),
            folder: self.folder.clone(),
            tools: self.told.own.files.iter().map(whole).collect(),
            system: self.told.system.clone(),
            no_fetch: self.told.no_fetch,
        }
    }

    /// Which server it is, without what may be secret in its address; or which model of this program.
    pub(crate) fn address(&self) -> String {
        match &self.model {
            Model::Server(server) => server.address(),
            Model::Own(name, _) => format!("the program's own model ({})", one_line(name, 60)),
        }
    }

    /// For people: which model where.
    pub(crate) fn shown(&self) -> String {
        match &self.model {
            Model::Server(server) => server.shown(),
            Model::Own(name, model) => one_line(model.as_ref().unwrap_or(name), 60),
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
        if let Model::Server(server) = &self.model
            && server.sends_key_in_the_clear()
        {
            cares.push("the key goes to this server without encryption; use https".to_owned());
        }
        cares
    }
}

/// The policy of the program: what is not marked as read-only needs approval.
pub(crate) fn asks_before_writes() -> impl ApprovalPolicy {
    before_writes("it may change something")
}

/// The runner with its turns in what is kept, if something is.
pub(crate) async fn kept_in(
    runner: TurnRunnerBuilder,
    keeping: Option<&Keeping>,
) -> anyhow::Result<TurnRunner> {
    let runner = match keeping {
        None => runner,
        Some(keeping) => runner
            .lease(LEASE)
            .unknown_calls(ask_somebody())
            // A file from another person approves nothing.
            .recall_answers(!keeping.place.is_named())
            .secret(keeping.secret().await?)
            .store(keeping.store.clone()),
    };
    Ok(runner.build()?)
}

async fn server_model(
    told: &args::Agent,
    record: Option<&Path>,
) -> anyhow::Result<(Model, TurnRunnerBuilder)> {
    let server = Server::find(told).await?;
    let model = server.model();
    let model = match record {
        Some(file) => model.transport(Cassette::record(file, server.client()?)?),
        None => model,
    };
    let model = model
        .system_prompt(told.system.as_deref().unwrap_or(SYSTEM))
        .build()
        .map_err(|error| misuse(error.with_causes()))?;
    Ok((Model::Server(server), turnwright::runner(model)))
}

fn own_model(
    model: OwnModel,
    told: &args::Agent,
    record: Option<&Path>,
) -> anyhow::Result<(Model, TurnRunnerBuilder)> {
    for (given, option) in [
        (record.is_some(), "--record"),
        (told.system.is_some(), "--system"),
    ] {
        if given {
            return Err(misuse(format!(
                "`{option}` is for model servers, and this program has a model of its own: leave it out"
            )));
        }
    }
    let named = Model::Own(model.name.clone(), model.model.clone());
    Ok((named, model.runner()))
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
