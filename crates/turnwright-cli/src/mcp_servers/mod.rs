//! The MCP servers of a configuration: read, agreed to, pinned and started.

mod config;
mod consent;
mod definition;
pub(crate) mod differences;
mod expand;
mod keys;
mod login;
mod pin;
mod secrets;

use std::path::{Path, PathBuf};

use futures_util::future::{join_all, try_join_all};
use turnwright_mcp::{LockFile, Mcp, Pinning, ServerState, ServerStatus};

pub(crate) use config::{Config, Entry};
pub(crate) use consent::{missing as missing_consent, require as require_consent};
pub(crate) use pin::pin;

use crate::args::McpOptions;
use crate::exit::misuse;
use crate::terminal::{Screen, plain, shell_path};
use crate::units::plural;

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

    fn is_authorizing(&self) -> bool {
        let mut status = self.mcp.status().into_iter();
        status.any(|status| status.state == ServerState::Authorizing)
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

    /// Warnings for the user: keys without an effect, servers that are not connected, and tools that are withheld.
    pub(crate) fn warnings(&self) -> Vec<String> {
        [self.config.warnings(), self.problems()].concat()
    }

    /// Why a server is not connected, and what to do. `None` if it is connected.
    pub(crate) fn trouble(&self, status: &ServerStatus) -> Option<String> {
        let doctor = self.command("doctor");
        Some(match &status.state {
            _ if status.requires_login => login_advice(&self.config.file),
            ServerState::Connected { .. } => return None,
            ServerState::Down { reason } => {
                let why = self.config.why_down(reason);
                format!("is down: {why}. Check it with `{doctor}`")
            }
            _ => format!("is still starting. Try again, or run `{doctor}`"),
        })
    }

    /// Servers that are not connected, and tools that are withheld, with what to do.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for status in self.mcp.status() {
            let alias = &self.config.label(&status.alias);
            let trouble = self.trouble(&status);
            warnings.extend(trouble.map(|why| format!("the MCP server {alias} {why}")));
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

/// All servers with the numbers of their tools, in one line. `None` if there are none.
pub(crate) fn summary(servers: &[McpServers]) -> Option<String> {
    let status = servers.iter().flat_map(|servers| servers.mcp.status());
    let status: Vec<String> = status.map(|status| summary_of(&status)).collect();
    (!status.is_empty()).then(|| format!("MCP servers: {}", status.join(", ")))
}

/// That a server waits for a login, and the command for it.
pub(crate) fn login_advice(file: &Path) -> String {
    format!(
        "waits for a login. Run `{}` at a terminal",
        command("doctor", file)
    )
}

fn summary_of(status: &ServerStatus) -> String {
    let alias = &status.alias;
    match &status.state {
        ServerState::Connected { .. } => {
            let count = plural(status.tools.len() as u64, "tool");
            match status.withheld.len() {
                0 => format!("{alias} ({count})"),
                withheld => format!("{alias} ({count}, {withheld} withheld)"),
            }
        }
        _ if status.requires_login => format!("{alias} (waits for a login)"),
        ServerState::Down { .. } => format!("{alias} (down)"),
        _ => format!("{alias} (starting)"),
    }
}

/// A command of `mcp` for a configuration, quoted for a shell.
pub(crate) fn command(name: &str, file: &Path) -> String {
    format!("turnwright mcp {name} --mcp {}", shell_path(file))
}

/// The lock file of a configuration, in its directory: `mcp.lock.json` for `.mcp.json`, `servers.lock.json` for `servers.json`.
pub(crate) fn lock_file(config: &Config) -> PathBuf {
    let name = config.path.file_stem().unwrap_or_default();
    let name = name.to_string_lossy();
    let name = name.trim_start_matches('.');
    config.folder().join(format!("{name}.lock.json"))
}

/// Reads the lock file of a configuration, if there is one.
pub(crate) fn read_lock(config: &Config) -> anyhow::Result<Option<LockFile>> {
    LockFile::read(lock_file(config)).map_err(|error| misuse(error.to_string()))
}

/// Opens the servers that an agent uses, and starts them. A person is asked for what is missing: consent and pins.
///
/// # Errors
/// A configuration is invalid, the person says no, or there is no terminal to ask.
pub(crate) async fn open(
    options: &McpOptions,
    screen: &mut Screen,
) -> anyhow::Result<Vec<McpServers>> {
    let configs = Config::read_all(&options.files)?;
    let pinning = if options.unpinned {
        Pinning::Unpinned
    } else {
        Pinning::Pinned
    };
    let mut opened = Vec::new();
    for mut config in configs {
        consent::require(&config, false, screen).await?;
        if pinning == Pinning::Pinned && read_lock(&config)?.is_none() {
            config = pin::pin_first(config, screen).await?;
        }
        opened.push(McpServers::new(config, pinning, screen.is_interactive())?);
    }
    prepare(&opened, screen).await?;
    Ok(opened)
}

/// Starts the servers of all files side by side, and waits for those that are not optional, but not for long. If a person must log
/// in, waits for them.
async fn prepare(all: &[McpServers], screen: &mut Screen) -> anyhow::Result<()> {
    screen.busy("starting the MCP servers");
    // A server that is late is reported by its state.
    let mut started = try_join_all(all.iter().map(|servers| servers.mcp.prepare())).await;
    let waiting = all.iter().filter(|servers| servers.is_authorizing());
    let waiting: Vec<&Mcp> = waiting.map(|servers| &servers.mcp).collect();
    if started.is_ok() && !waiting.is_empty() {
        screen.busy("waiting until you have logged in");
        started = try_join_all(waiting.into_iter().map(Mcp::start)).await;
    }
    screen.rest();
    started?;
    Ok(())
}

/// Starts the servers of all files side by side, and waits until each is connected or has failed.
pub(crate) async fn start(all: &[McpServers], screen: &mut Screen) -> anyhow::Result<()> {
    prepare(all, screen).await?;
    screen.busy("starting the MCP servers");
    let started = try_join_all(all.iter().map(|servers| servers.mcp.start())).await;
    screen.rest();
    started?;
    Ok(())
}

/// Stops the servers of all files side by side.
pub(crate) async fn stop(all: &[McpServers]) {
    join_all(all.iter().map(|servers| servers.mcp.stop())).await;
}

/// The path of a configuration in messages.
pub(crate) fn shown(file: &Path) -> String {
    plain(&file.display().to_string()).into_owned()
}
