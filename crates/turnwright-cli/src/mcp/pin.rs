//! `turnwright mcp pin`

use serde_json::json;
use turnwright_mcp::{LockFile, ServerState};

use super::differences;
use crate::exit::{Exit, misuse};
use crate::mcp_servers::{McpServers, lock_file, read_lock, shown, unusable, usable};
use crate::terminal::{Screen, confirm, one_line};
use crate::units::plural;

pub(super) async fn run(
    servers: &McpServers,
    yes: bool,
    screen: &mut Screen,
) -> anyhow::Result<Exit> {
    let pinned = prepare(servers, screen);
    let unusable = unusable(&servers.mcp);
    let pinned = pinned.map(|(before, pins, is_complete)| {
        let tools = usable(&servers.mcp, &pins);
        (before, pins, is_complete, tools)
    });
    servers.mcp.stop().await;
    let (before, pins, is_complete, tools) = pinned?;
    let exit = if is_complete { Exit::Done } else { Exit::No };
    let lock = lock_file(&servers.config);
    for item in &unusable {
        screen.warn(item.to_string())?;
    }
    if before.as_ref() == Some(&pins) {
        screen.line(format_args!("Nothing changes in {}.", shown(&lock)))?;
    } else if pins.servers.is_empty() {
        anyhow::bail!(
            "no MCP server is connected, so there is nothing to pin. Run `{}`",
            servers.command("doctor")
        );
    } else {
        if !yes {
            if !screen.is_interactive() {
                return Err(misuse(
                    "there is no terminal to ask for confirmation. Use `--yes` to pin without asking",
                ));
            }
            let mut count = plural(tools, "tool");
            if servers.config.is_one_of_many {
                count.push_str(&format!(" of {}", shown(&servers.config.file)));
            }
            if !confirm(&format!("  Pin {count}? yes or no: ")).await? {
                screen.line("Nothing was pinned.")?;
                return Ok(Exit::No);
            }
        }
        pins.write(&lock)?;
        let count = plural(tools, "tool");
        screen.line(format_args!("Pinned {count} in {}.", shown(&lock)))?;
    }
    screen.value(&json!({
        "lockFile": lock, "tools": tools, "complete": is_complete, "unusable": unusable,
    }))?;
    Ok(exit)
}

/// Shows what changes. Returns the lock file as it is and as it will be, and whether every server was asked.
fn prepare(
    servers: &McpServers,
    screen: &mut Screen,
) -> anyhow::Result<(Option<LockFile>, LockFile, bool)> {
    let before = read_lock(&servers.config)?;
    let mut pins = servers.mcp.pins();
    differences::show(servers, screen)?;
    let mut is_complete = true;
    for status in servers.mcp.status() {
        let ServerState::Down { reason } = &status.state else {
            continue;
        };
        is_complete = false;
        // What it said before is still pinned.
        let old = before
            .as_ref()
            .and_then(|lock| lock.servers.get(&status.alias));
        if let Some(old) = old {
            pins.servers.insert(status.alias.clone(), old.clone());
        }
        let reason = servers.config.why_down(reason);
        let server = servers.config.label(&status.alias);
        let text = format!("{server} is down, so it is not pinned now: {reason}");
        screen.warn(text)?;
    }
    let gone = before.iter().flat_map(|lock| lock.servers.keys());
    let gone = gone.filter(|alias| !pins.servers.contains_key(*alias));
    for alias in gone {
        let server = servers.config.label(&one_line(alias, 64));
        screen.line(format_args!("{server}: no longer in the configuration"))?;
    }
    Ok((before, pins, is_complete))
}
