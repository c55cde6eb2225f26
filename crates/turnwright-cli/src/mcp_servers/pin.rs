//! Pins the tools of a configuration.

use std::fmt;
use std::slice;

use serde_json::json;
use turnwright_mcp::{
    LockFile, Mcp, Pinning, ServerState, WithheldKind, display_name, exposed_name,
};

use super::{Config, McpServers, command, differences, lock_file, read_lock, shown, start};
use crate::exit::{Exit, misuse};
use crate::terminal::{Screen, confirm, one_line};
use crate::units::plural;

/// Pins the tools of a configuration that has no lock file yet, if the user agrees.
///
/// # Errors
/// The person says no, no server is connected, or there is no terminal to ask.
pub(super) async fn pin_first(config: Config, screen: &mut Screen) -> anyhow::Result<Config> {
    let pin_later = command("pin", &config.file);
    let lock = lock_file(&config);
    if !screen.is_interactive() {
        return Err(misuse(format!(
            "the tools of `{}` are not pinned: there is no `{}`. Run `{pin_later}` (with `--yes` in a script), or pass \
             `--mcp-unpinned` to use whatever the servers offer",
            shown(&config.file),
            shown(&lock)
        )));
    }
    let servers = McpServers::new(config, Pinning::Pinned, true)?;
    start(slice::from_ref(&servers), screen).await?;
    screen.warn(
        "These tools are not pinned yet. Their texts are by the servers. If a definition changes later, the tool is withheld \
         until you have seen the difference and pinned it.",
    )?;
    pin(&servers, false, screen).await?;
    anyhow::ensure!(
        lock.exists(),
        "nothing was pinned. To pin the tools later, run `{pin_later}`"
    );
    Ok(servers.config)
}

/// Shows what changes, asks the user unless `yes` is set, and writes the lock file. Stops the servers.
pub(crate) async fn pin(
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

/// A tool that cannot be used, whether it is pinned or not.
#[derive(Debug, serde::Serialize)]
struct Unusable {
    server: String,
    tool: String,
    reason: String,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = one_line(&display_name(&self.tool), 80);
        let reason = one_line(&self.reason, 500);
        let server = &self.server;
        write!(
            f,
            "{server}: `{tool}` cannot be used, pinned or not: {reason}"
        )
    }
}

/// The tools that cannot be used, whether they are pinned or not.
fn unusable(mcp: &Mcp) -> Vec<Unusable> {
    let mut unusable = Vec::new();
    for status in mcp.status() {
        let withheld = status.withheld.into_iter();
        let withheld = withheld.filter(|item| item.kind == WithheldKind::Unusable);
        unusable.extend(withheld.map(|item| Unusable {
            server: status.alias.clone(),
            tool: item.tool,
            reason: item.reason,
        }));
    }
    unusable
}

/// The number of tools in a lock file, without those that cannot be used.
fn usable(mcp: &Mcp, pins: &LockFile) -> u64 {
    let status = mcp.status();
    let counts = pins.servers.iter().map(|(alias, server)| {
        let status = status.iter().find(|status| status.alias == *alias);
        let is_usable = |name: &&String| match status {
            Some(status) if matches!(status.state, ServerState::Connected { .. }) => {
                let mut others = status.withheld.iter().chain(&status.left_out);
                status.tools.contains(&exposed_name(alias, name))
                    || others.any(|item| item.tool == **name && item.kind != WithheldKind::Unusable)
            }
            // The pins from before stay.
            _ => true,
        };
        server.tools.keys().filter(is_usable).count() as u64
    });
    counts.sum()
}
