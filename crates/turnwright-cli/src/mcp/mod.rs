//! `turnwright mcp`: trusts, pins, inspects and calls the tools of MCP servers, and serves tools.

mod call;
mod diff;
mod doctor;
mod list;
mod serve;

use serde_json::json;
use turnwright_mcp::Pinning;

pub(crate) use serve::run as serve;

use crate::args;
use crate::exit::Exit;
use crate::extensions::Extensions;
use crate::mcp_servers::{self, Config, McpServers, require_consent, shown};
use crate::terminal::{Screen, Signals, warn_on_stderr};

pub(crate) async fn run(
    options: args::Mcp,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    // `call` handles signals itself.
    let options = match options {
        args::Mcp::Call(options) => return call::run(options, extensions.settings, screen).await,
        other => other,
    };
    let mut signals = Signals::listen()?;
    tokio::select! {
        exit = inspect(options, &mut screen) => exit,
        signal = signals.next() => Ok(signal.exit()),
    }
}

async fn inspect(options: args::Mcp, screen: &mut Screen) -> anyhow::Result<Exit> {
    let files = match &options {
        args::Mcp::List(options) | args::Mcp::Diff(options) => options,
        args::Mcp::Pin(options) | args::Mcp::Trust(options) => &options.config,
        args::Mcp::Doctor(options) => return doctor::run(options, screen).await,
        // They have functions of their own.
        args::Mcp::Call(_) | args::Mcp::Serve(_) => return Ok(Exit::Misused),
    };
    let configs = Config::read_all(&files.files)?;
    for config in &configs {
        warn_of_keys(config);
        if let args::Mcp::Diff(_) = &options {
            diff::check(config)?;
        }
    }
    let agreed = match &options {
        args::Mcp::Pin(options) | args::Mcp::Trust(options) => options.yes,
        _ => false,
    };
    for config in &configs {
        require_consent(config, agreed, screen).await?;
        if let args::Mcp::Trust(_) = &options {
            let trusted = json!({ "trusted": config.path, "digest": config.digest });
            screen.value(&trusted)?;
            screen.line(format_args!("{} is trusted.", shown(&config.file)))?;
        }
    }
    if let args::Mcp::Trust(_) = &options {
        return Ok(Exit::Done);
    }
    let attended = screen.is_interactive();
    let servers = configs
        .into_iter()
        .map(|config| McpServers::new(config, Pinning::Pinned, attended))
        .collect::<anyhow::Result<Vec<_>>>()?;
    mcp_servers::start(&servers, screen).await?;
    let exit = each(&options, &servers, screen).await;
    mcp_servers::stop(&servers).await;
    exit
}

/// Runs a command for each file. The last exit code that is not a success counts.
async fn each(
    options: &args::Mcp,
    all: &[McpServers],
    screen: &mut Screen,
) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    for servers in all {
        let of_file = match options {
            args::Mcp::Diff(_) => diff::run(servers, screen)?,
            args::Mcp::Pin(options) => mcp_servers::pin(servers, options.yes, screen).await?,
            _ => list::run(servers, screen)?,
        };
        if of_file != Exit::Done {
            exit = of_file;
        }
    }
    Ok(exit)
}

/// Warns of keys without an effect, on standard error: the output may be read by a program.
fn warn_of_keys(config: &Config) {
    for warning in config.warnings() {
        warn_on_stderr(&warning);
    }
}
