//! `turnwright mcp diff`

use turnwright_mcp::ServerState;

use super::{differences, started};
use crate::exit::{Exit, misuse};
use crate::mcp_servers::{Ask, Config, McpServers, command, lock_file, read_lock, shown, why_down};
use crate::terminal::{Screen, style};
use crate::units::plural;

pub(super) async fn run(config: Config, screen: &mut Screen) -> anyhow::Result<Exit> {
    if read_lock(&config)?.is_none() {
        return Err(misuse(format!(
            "there is no `{}` to compare with. Run `{}`",
            shown(&lock_file(&config)),
            command("pin", &config.file)
        )));
    }
    let servers = started(config, Ask::Person, screen).await?;
    let exit = compare(&servers, screen);
    servers.mcp.stop().await;
    exit
}

fn compare(servers: &McpServers, screen: &mut Screen) -> anyhow::Result<Exit> {
    let count = differences::show(servers, screen)?;
    let mut is_complete = true;
    for status in servers.mcp.status() {
        if let ServerState::Down { reason } = &status.state {
            is_complete = false;
            if !screen.is_json() {
                let reason = why_down(reason);
                let text = format!("{} is down, so it was not compared: {reason}", status.alias);
                screen.warn(text)?;
            }
        }
    }
    if !screen.is_json() {
        match (count, is_complete) {
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
    }
    Ok(match count == 0 && is_complete {
        true => Exit::Done,
        false => Exit::No,
    })
}
