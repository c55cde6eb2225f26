//! `turnwright mcp`: trusts, pins, inspects and calls the tools of MCP servers, and serves tools.

mod call;
mod diff;
mod differences;
mod doctor;
mod list;
mod pin;
mod serve;
mod word_diff;

use std::io::Write as _;

use turnwright_mcp::Pinning;

pub(crate) use serve::run as serve;

use crate::args;
use crate::exit::Exit;
use crate::extensions::Extensions;
use crate::mcp_servers::{Ask, Config, McpServers, require_consent, shown};
use crate::terminal::style::{self, paint};
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
    let files = match &options {
        args::Mcp::List(options) | args::Mcp::Diff(options) => options,
        args::Mcp::Pin(options) | args::Mcp::Trust(options) => &options.config,
        args::Mcp::Doctor(options) => return doctor::run(options, screen).await,
        // They have functions of their own.
        args::Mcp::Call(_) | args::Mcp::Serve(_) => return Ok(Exit::Misused),
    };
    let mut exit = Exit::Done;
    for config in Config::read_all(&files.files)? {
        warn_of_keys(&config);
        let of_file = match &options {
            args::Mcp::Diff(_) => diff::run(config, screen).await?,
            args::Mcp::Pin(options) => pin::run(config, options.yes, screen).await?,
            args::Mcp::Trust(options) => trust(&config, options.yes, screen).await?,
            _ => {
                let servers = started(config, Ask::Person, screen).await?;
                let listed = list::run(&servers, screen);
                servers.mcp.stop().await;
                listed?
            }
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
        let text = paint(style::WARN, format_args!("warning: {warning}"));
        // If it cannot be shown, the command still works.
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}

/// The servers of a configuration, started, with the tools that fit the lock file.
async fn started(config: Config, ask: Ask, screen: &mut Screen) -> anyhow::Result<McpServers> {
    require_consent(&config, ask, screen).await?;
    let servers = McpServers::new(config, Pinning::Pinned, screen.is_interactive())?;
    servers.start(screen).await?;
    Ok(servers)
}

/// What `--yes` says about consent.
fn ask(yes: bool) -> Ask {
    match yes {
        true => Ask::Agreed,
        false => Ask::Person,
    }
}

async fn trust(config: &Config, yes: bool, screen: &mut Screen) -> anyhow::Result<Exit> {
    // Nothing is started, but what is trusted must be possible.
    config.servers(false)?;
    require_consent(config, ask(yes), screen).await?;
    match screen.is_json() {
        true => {
            let trusted = serde_json::json!({ "trusted": config.path, "digest": config.digest });
            screen.value(&trusted)?;
        }
        false => screen.line(format_args!("{} is trusted.", shown(&config.file)))?,
    }
    Ok(Exit::Done)
}
