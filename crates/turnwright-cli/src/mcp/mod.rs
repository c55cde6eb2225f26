//! `turnwright mcp`: trusts, pins, inspects and calls the tools of MCP servers, and serves tools.

mod call;
mod diff;
mod differences;
mod doctor;
mod list;
mod pin;
mod serve;
mod word_diff;

use turnwright_mcp::Pinning;

pub(crate) use serve::run as serve;

use crate::args;
use crate::exit::Exit;
use crate::extensions::Extensions;
use crate::mcp_servers::{Ask, Config, McpServers, require_consent, shown};
use crate::terminal::{Screen, Signals};

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
    match options {
        args::Mcp::List(options) => {
            let servers = started(&options, Ask::Person, screen).await?;
            let exit = list::run(&servers, screen);
            servers.mcp.stop().await;
            exit
        }
        args::Mcp::Diff(options) => diff::run(&options, screen).await,
        args::Mcp::Pin(options) => pin::run(&options, screen).await,
        args::Mcp::Trust(options) => trust(&options, screen).await,
        args::Mcp::Doctor(options) => doctor::run(&options, screen).await,
        // They have functions of their own.
        args::Mcp::Call(_) | args::Mcp::Serve(_) => Ok(Exit::Misused),
    }
}

/// The servers of a configuration, started, with the tools that fit the lock file.
async fn started(
    options: &args::McpFile,
    ask: Ask,
    screen: &mut Screen,
) -> anyhow::Result<McpServers> {
    let config = Config::read(&options.file)?;
    require_consent(&config, ask, screen).await?;
    let servers = McpServers::new(config, Pinning::Pinned, screen.is_interactive())?;
    screen.busy("starting the MCP servers");
    servers.mcp.start().await?;
    screen.rest();
    Ok(servers)
}

/// What `--yes` says about consent.
fn ask(yes: bool) -> Ask {
    match yes {
        true => Ask::Agreed,
        false => Ask::Person,
    }
}

async fn trust(options: &args::McpConfirm, screen: &mut Screen) -> anyhow::Result<Exit> {
    let config = Config::read(&options.config.file)?;
    require_consent(&config, ask(options.yes), screen).await?;
    match screen.is_json() {
        true => {
            let trusted = serde_json::json!({ "trusted": config.path, "digest": config.digest });
            screen.value(&trusted)?;
        }
        false => screen.line(format_args!("{} is trusted.", shown(&config.file)))?,
    }
    Ok(Exit::Done)
}
