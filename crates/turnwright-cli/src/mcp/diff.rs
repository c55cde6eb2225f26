//! `turnwright mcp diff`

use turnwright_mcp::ServerState;

use crate::exit::{Exit, misuse};
use crate::mcp_servers::{Config, McpServers, command, differences, lock_file, read_lock, shown};
use crate::terminal::{Screen, style};
use crate::units::plural;

/// Checks that there is a lock file.
pub(super) fn check(config: &Config) -> anyhow::Result<()> {
    match read_lock(config)? {
        Some(_) => Ok(()),
        None => Err(misuse(format!(
            "there is no `{}` to compare with. Run `{}`",
            shown(&lock_file(config)),
            command("pin", &config.file)
        ))),
    }
}

pub(super) fn run(servers: &McpServers, screen: &mut Screen) -> anyhow::Result<Exit> {
    let config = &servers.config;
    let count = differences::show(servers, screen)?;
    let mut is_complete = true;
    for status in servers.mcp.status() {
        if let ServerState::Down { reason } = &status.state {
            is_complete = false;
            let (server, reason) = (config.label(&status.alias), config.why_down(reason));
            let text = format!("{server} is down, so it was not compared: {reason}");
            screen.warn(text)?;
        }
    }
    match (count, is_complete) {
        (0, true) if config.is_one_of_many => {
            let text = format!("{}: no differences.", shown(&config.file));
            screen.painted(style::GOOD, text)?;
        }
        (0, true) => screen.painted(style::GOOD, "No differences.")?,
        (0, false) => {}
        _ => {
            let status = servers.mcp.status();
            let withheld: usize = status.iter().map(|status| status.withheld.len()).sum();
            let withheld = plural(withheld as u64, "tool");
            let pin = servers.command("pin");
            screen.dim(format!(
                "Withheld: {withheld}. To accept the changes, run `{pin}`"
            ))?;
        }
    }
    Ok(if count == 0 && is_complete {
        Exit::Done
    } else {
        Exit::No
    })
}
