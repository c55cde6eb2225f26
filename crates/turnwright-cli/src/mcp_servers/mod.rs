//! The MCP servers of a configuration: read, agreed to, pinned and started.

mod config;
mod consent;
mod expand;
mod login;
mod pins;

use std::path::{Path, PathBuf};

use turnwright_mcp::{LockFile, Mcp, Pinning, ServerState, ServerStatus};

pub(crate) use config::Config;
pub(crate) use consent::{Ask, is_given, require as require_consent};
pub(crate) use pins::{quote, show_definition};

use crate::args::McpOptions;
use crate::exit::misuse;
use crate::terminal::{Screen, one_line, plain, shell_path};
use crate::units::plural;

/// The lock file, in the directory of the configuration.
const LOCK_FILE: &str = "mcp.lock.json";

/// The servers of a configuration that the user has agreed to.
pub(crate) struct McpServers {
    pub(crate) config: Config,
    pub(crate) mcp: Mcp,
}

impl McpServers {
    /// The servers of a configuration. Nothing is started. `attended` says whether a person can be asked to log in.
    pub(crate) fn new(config: Config, pinning: Pinning, attended: bool) -> anyhow::Result<Self> {
        let mcp = Mcp::new(config.servers(attended)?).pinning(pinning);
        let mcp = match pinning {
            Pinning::Unpinned => mcp,
            _ => mcp.lock_file(lock_file(&config)),
        };
        let servers = McpServers { config, mcp };
        servers.mcp.check().map_err(|error| {
            misuse(format!(
                "{}. If you did not change the lock file yourself, restore it; otherwise delete it and run `{}`",
                error.message(),
                servers.command("pin")
            ))
        })?;
        Ok(servers)
    }

    /// Starts the servers, and waits for those that are not optional, but not for long.
    pub(crate) async fn start(&self, screen: &mut Screen) -> anyhow::Result<()> {
        screen.busy("starting the MCP servers");
        // A server that is late is reported by its state.
        let mut started = self.mcp.prepare().await;
        let status = self.mcp.status();
        let waits = |status: &ServerStatus| status.state == ServerState::Authorizing;
        if started.is_ok() && status.iter().any(waits) {
            screen.busy("waiting until you have logged in");
            started = self.mcp.start().await;
        }
        screen.rest();
        Ok(started?)
    }

    /// The aliases of the servers whose results are not shown to the model.
    pub(crate) fn quarantined(&self) -> impl Iterator<Item = &str> {
        let servers = self.config.servers.iter();
        let servers = servers.filter(|(_, entry)| entry.quarantine);
        servers.map(|(alias, _)| alias.as_str())
    }

    /// The command of `mcp` with this name for this configuration, quoted for a shell.
    pub(crate) fn command(&self, name: &str) -> String {
        command(name, &self.config.file)
    }

    /// The servers with the numbers of their tools, in one line.
    pub(crate) fn summary(&self) -> String {
        let servers: Vec<String> = self.mcp.status().iter().map(summary).collect();
        format!("MCP servers: {}", servers.join(", "))
    }

    /// Warnings for the user: servers that are not connected, and tools that are withheld.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for status in self.mcp.status() {
            let alias = &status.alias;
            match &status.state {
                ServerState::Down { reason } => warnings.push(format!(
                    "the MCP server {alias} is down: {}. Check it with `{}`",
                    why_down(reason),
                    self.command("doctor")
                )),
                ServerState::Authorizing => {
                    warnings.push(format!(
                        "the MCP server {alias} waits until you have logged in"
                    ));
                }
                ServerState::Starting => {
                    warnings.push(format!("the MCP server {alias} is still starting"));
                }
                _ => {}
            }
            let withheld = plural(status.withheld.len() as u64, "tool");
            match (status.differences.len(), status.withheld.len()) {
                (0, 0) => {}
                (0, _) => warnings.push(format!(
                    "{withheld} of {alias} cannot be used. Run `{}` for the reasons",
                    self.command("list")
                )),
                (differences, _) => {
                    let differences = plural(differences as u64, "difference");
                    warnings.push(format!(
                        "{alias} is not as it was pinned: {differences}, {withheld} withheld. Run `{}`",
                        self.command("diff")
                    ));
                }
            }
        }
        warnings
    }
}

fn summary(status: &ServerStatus) -> String {
    let alias = &status.alias;
    match &status.state {
        ServerState::Connected { .. } => {
            let count = plural(status.tools.len() as u64, "tool");
            match status.withheld.len() {
                0 => format!("{alias} ({count})"),
                withheld => format!("{alias} ({count}, {withheld} withheld)"),
            }
        }
        ServerState::Down { .. } => format!("{alias} (down)"),
        _ => format!("{alias} (starting)"),
    }
}

/// A command of `mcp` for a configuration, quoted for a shell.
pub(crate) fn command(name: &str, file: &Path) -> String {
    format!("turnwright mcp {name} --mcp {}", shell_path(file))
}

/// The lock file of a configuration.
pub(crate) fn lock_file(config: &Config) -> PathBuf {
    config.folder().join(LOCK_FILE)
}

/// Reads the lock file of a configuration, if there is one.
pub(crate) fn read_lock(config: &Config) -> anyhow::Result<Option<LockFile>> {
    LockFile::read(lock_file(config)).map_err(|error| misuse(error.to_string()))
}

/// Opens the servers that an agent uses, and starts them. A person is asked for what is missing: consent and pins.
///
/// # Errors
/// The configuration is invalid, the person says no, or there is no terminal to ask.
pub(crate) async fn open(
    options: &McpOptions,
    screen: &mut Screen,
) -> anyhow::Result<Option<McpServers>> {
    let Some(file) = &options.file else {
        return Ok(None);
    };
    let config = Config::read(file)?;
    consent::require(&config, Ask::Person, screen).await?;
    let pinning = match options.unpinned {
        true => Pinning::Unpinned,
        false => Pinning::Pinned,
    };
    if pinning == Pinning::Pinned && read_lock(&config)?.is_none() {
        pins::pin_first(&config, screen).await?;
    }
    let servers = McpServers::new(config, pinning, screen.is_interactive())?;
    servers.start(screen).await?;
    Ok(Some(servers))
}

/// Why a server is down, on one line, in the words of this program.
pub(crate) fn why_down(reason: &str) -> String {
    one_line(reason, 500).replace("set `OAuth::prompt`", "log in at a terminal")
}

/// The path of a configuration in messages.
pub(crate) fn shown(file: &Path) -> String {
    plain(&file.display().to_string()).into_owned()
}
