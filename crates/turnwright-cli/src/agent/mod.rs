//! The agent of a chat or of a resumed turn: a model with its tools.

mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use turnwright::approval::{ApprovalPolicy, before_writes, no_exfiltration, quarantine};
use turnwright::middleware::find_tools;
use turnwright::prelude::*;
use turnwright::reconcile::ask_operator;
use turnwright::runner::{History, TurnRunnerBuilder};
use turnwright_testkit::cassette::Cassette;

pub(crate) use server::{Server, api_key, is_address};

use crate::args;
use crate::exit::misuse;
use crate::extensions::{CustomModel, Extensions, apply};
use crate::mcp_servers::{self, McpServers};
use crate::storage::{ChatNote, Storage};
use crate::terminal::one_line;
use crate::toolbox::{self, Builtin};

/// The default system prompt.
const SYSTEM: &str = "You are an assistant in a terminal. Be brief and precise. Use Markdown where it helps: lists, tables and \
    fenced code blocks with their language. Use your tools: check before you guess, and say what you could not find out.";

/// Lease duration. After a crash, other programs wait this long.
const LEASE: Duration = Duration::from_secs(10);

/// A model with its tools.
pub(crate) struct Agent {
    pub(crate) options: args::Agent,
    /// The directory that the built-in tools can read.
    pub(crate) folder: PathBuf,
    /// Whether there are built-in tools.
    pub(crate) builtin_tools: bool,
    pub(crate) tools: Vec<Tool>,
    pub(crate) model: Model,
    /// The MCP servers, whose tools may change.
    pub(crate) mcp: Vec<McpServers>,
}

/// A model and its location.
pub(crate) struct Model {
    name: String,
    /// The URL of its server without secrets, or the name of the program's own model.
    pub(crate) address: String,
    /// Whether the address cannot be used as a URL.
    partial: bool,
    /// For users.
    pub(crate) shown: String,
    /// Whether a key is sent to it unencrypted over a network.
    sends_key_in_the_clear: bool,
    /// The variable of the API key, if the provider has keys.
    pub(crate) key: Option<&'static str>,
    /// The name that selects the model again, with its provider if it needs one.
    full_name: String,
}

impl Agent {
    /// Finds the model. Requests and responses are recorded in the file, if one is given. The runner has no storage yet: see
    /// [`with_storage`].
    pub(crate) async fn find(
        options: args::Agent,
        extensions: Extensions,
        record: Option<&Path>,
    ) -> anyhow::Result<(Self, TurnRunnerBuilder)> {
        let folder = existing(options.folder.as_deref().unwrap_or(Path::new(".")))?;
        let builtin = extensions.builtin_tools.then_some(Builtin {
            folder: &folder,
            fetch: !options.no_fetch,
        });
        let tools = toolbox::gather(builtin, extensions.tools, &options.tool_files.files)?;
        let (model, runner) = match extensions.model {
            Some(model) => own_model(model, &options, record)?,
            None => server_model(&options, record).await?,
        };
        let history = options.last.map_or_else(History::all, History::last);
        let runner = apply(extensions.settings, runner.history(history))
            .tools(tools.clone())
            .policy(asks_before_writes())
            // Without a person, a question is a denial.
            .policy(if options.no_exfiltration {
                no_exfiltration()
            } else {
                no_exfiltration().ask()
            });
        let agent = Agent {
            options,
            folder,
            builtin_tools: extensions.builtin_tools,
            tools,
            model,
            mcp: Vec::new(),
        };
        Ok((agent, runner))
    }

    /// Adds the tools of MCP servers. If there are too many, the model searches for them.
    pub(crate) fn with_mcp(
        mut self,
        runner: TurnRunnerBuilder,
        servers: Vec<McpServers>,
    ) -> (Self, TurnRunnerBuilder) {
        let mut runner = runner;
        for servers in &servers {
            let quarantined = servers.quarantined();
            runner = quarantined.fold(runner, |runner, alias| runner.policy(quarantine(alias)));
            runner = runner.mcp(servers.mcp.clone());
        }
        if !servers.is_empty() {
            let find = find_tools(self.options.mcp.tool_budget).tokens_of(&self.model.name);
            let own = self.tools.iter();
            let find = own.fold(find, |find, tool| find.pin(tool.name()));
            runner = runner.dispatch_input(find);
        }
        self.mcp = servers;
        (self, runner)
    }

    /// The tools that the model has now.
    pub(crate) fn all_tools(&self) -> Vec<Tool> {
        let remote = self.mcp.iter().flat_map(|servers| servers.mcp.tools());
        self.tools.iter().cloned().chain(remote).collect()
    }

    /// Stops what runs for this agent.
    pub(crate) async fn stop(&self) {
        mcp_servers::stop(&self.mcp).await;
    }

    /// The note of a chat about a conversation with this agent.
    pub(crate) fn chat_note(&self) -> ChatNote {
        let full = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
        ChatNote {
            server: self.model.address.clone(),
            partial: self.model.partial,
            model: self.model.full_name.clone(),
            folder: self.folder.clone(),
            tools: self.options.tool_files.files.iter().map(full).collect(),
            system: self.options.system.clone(),
            no_fetch: self.options.no_fetch,
            no_exfiltration: self.options.no_exfiltration,
            mcp: self
                .mcp
                .iter()
                .map(|servers| servers.config.path.clone())
                .collect(),
        }
    }

    /// Warnings for the user before a chat starts.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let home = std::env::home_dir();
        let home = home.and_then(|home| home.canonicalize().ok());
        let is_large = self.folder.parent().is_none() || home.as_deref() == Some(&self.folder);
        if is_large && self.builtin_tools {
            let text = "the model can read all files in this directory except hidden ones; use --folder to select a smaller one";
            warnings.push(text.to_owned());
        }
        if self.model.sends_key_in_the_clear {
            warnings.push("the API key is sent to this server unencrypted; use https".to_owned());
        }
        warnings.extend(self.mcp.iter().flat_map(McpServers::warnings));
        warnings
    }
}

/// The policy of the program: tools that are not read-only need approval.
pub(crate) fn asks_before_writes() -> impl ApprovalPolicy {
    before_writes("it may change something")
}

/// Builds the runner, with storage if there is one.
pub(crate) async fn with_storage(
    runner: TurnRunnerBuilder,
    storage: Option<&Storage>,
) -> anyhow::Result<TurnRunner> {
    let runner = match storage {
        None => runner,
        Some(storage) => runner
            .lease(LEASE)
            .unknown_calls(ask_operator())
            // Approvals in a file that may be another person's do not count.
            .reuse_answers(!storage.place.named)
            .storage(storage.of_runner().await?),
    };
    Ok(runner.build()?)
}

async fn server_model(
    options: &args::Agent,
    record: Option<&Path>,
) -> anyhow::Result<(Model, TurnRunnerBuilder)> {
    let server = Server::find(options).await?;
    let mut executor = server.executor();
    if let Some(file) = record {
        executor = executor.transport(Cassette::record(file, server.client()?)?);
    }
    let executor = executor
        .build()
        .map_err(|error| misuse(error.with_causes()))?;
    let model = Model {
        address: server.address(),
        partial: server.is_partial(),
        shown: server.shown(),
        sends_key_in_the_clear: server.sends_key_in_the_clear(),
        key: server.key_variable(),
        full_name: server.full_name(),
        name: server.model,
    };
    let system = options.system.as_deref().unwrap_or(SYSTEM);
    Ok((model, turnwright::runner(executor).instructions(system)))
}

fn own_model(
    model: CustomModel,
    options: &args::Agent,
    record: Option<&Path>,
) -> anyhow::Result<(Model, TurnRunnerBuilder)> {
    if record.is_some() {
        return Err(misuse(
            "`--record` only works with a model server, and this program has its own model. Remove the option",
        ));
    }
    let address = format!("the program's own model ({})", one_line(&model.name, 60));
    let name = model.model.unwrap_or(model.name);
    let described = Model {
        address,
        partial: true,
        shown: one_line(&name, 60),
        sends_key_in_the_clear: false,
        key: None,
        full_name: name.clone(),
        name,
    };
    let runner = match &options.system {
        Some(system) => model.runner.instructions(system),
        None => model.runner,
    };
    Ok((described, runner))
}

fn existing(folder: &Path) -> anyhow::Result<PathBuf> {
    folder.canonicalize().map_err(|error| {
        let shown = folder.display();
        misuse(format!(
            "cannot read the directory `{shown}`: {error}. Select another one with --folder"
        ))
    })
}
