//! `turnwright mcp call`: one call through the ordinary call path.

use turnwright::Tool;
use turnwright_mcp::{Change, Difference, ServerStatus, WithheldKind, exposed_name};

use super::warn_of_keys;
use crate::args::{DEFAULT_BUDGET, McpCall, McpOptions};
use crate::exit::{Exit, misuse};
use crate::extensions::Setting;
use crate::mcp_servers::{self, McpServers, shown};
use crate::terminal::{Screen, Signals, plain};
use crate::tools;

pub(super) async fn run(
    options: McpCall,
    settings: Vec<Setting>,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let of_agent = McpOptions {
        files: options.config.files.clone(),
        unpinned: options.unpinned,
        tool_budget: DEFAULT_BUDGET,
    };
    let mut signals = Signals::listen()?;
    let opened = tokio::select! {
        opened = mcp_servers::open(&of_agent, &mut screen) => opened?,
        signal = signals.next() => return Ok(signal.exit()),
    };
    drop(signals);
    for servers in &opened {
        warn_of_keys(&servers.config);
    }
    let exit = call(&opened, &options, settings, screen).await;
    mcp_servers::stop(&opened).await;
    exit
}

async fn call(
    servers: &[McpServers],
    options: &McpCall,
    settings: Vec<Setting>,
    screen: Screen,
) -> anyhow::Result<Exit> {
    let tools: Vec<Tool> = servers.iter().flat_map(|item| item.mcp.tools()).collect();
    let is_there = tools.iter().any(|tool| tool.name() == options.name);
    if let (false, Some(why)) = (is_there, why_not(servers, &options.name)) {
        return Err(misuse(why));
    }
    if tools.is_empty() {
        return Err(misuse(no_tools(servers, &options.name)));
    }
    let tool = tools::named(&tools, &options.name)?;
    tools::call::run(tool, &options.call, settings, screen).await
}

/// Why a tool that is known cannot be called, and what to do.
fn why_not(servers: &[McpServers], name: &str) -> Option<String> {
    let mut all = servers.iter().flat_map(|servers| {
        let status = servers.mcp.status().into_iter();
        status.map(move |status| (servers, status))
    });
    let is_of = |alias: &str| {
        let rest = name.strip_prefix(alias);
        rest.is_some_and(|rest| rest.starts_with("__"))
    };
    let (servers, status) = all.find(|(_, status)| is_of(&status.alias))?;
    let (alias, file) = (&status.alias, &servers.config.file);
    if let Some(why) = servers.trouble(&status) {
        return Some(format!("the MCP server `{alias}` {why}"));
    }
    let mut known = status.withheld.iter().chain(&status.left_out);
    let item = known.find(|item| exposed_name(alias, &item.tool) == name);
    let Some(item) = item else {
        let gone = gone(&status, name)?;
        let advice = advice(servers);
        return Some(format!("`{}` is not there: {gone}. {advice}", plain(name)));
    };
    let (name, reason) = (plain(name), plain(&item.reason));
    Some(match item.kind {
        WithheldKind::Unpinned => {
            format!("`{name}` is withheld: {reason}. {}", advice(servers))
        }
        WithheldKind::LeftOut => format!(
            "`{name}` is left out: {reason}. To use it, change that list in `{}`",
            shown(file)
        ),
        _ => format!(
            "`{name}` is withheld: {reason}. Only the server can correct that; pinning does not help"
        ),
    })
}

/// That a pinned tool was renamed or removed, if it was.
fn gone(status: &ServerStatus, name: &str) -> Option<String> {
    let is_named = |tool: &str| exposed_name(&status.alias, tool) == name;
    let was_named = |difference: &&Difference| match (&difference.change, &difference.tool) {
        (Change::Renamed { from, .. }, _) => is_named(from),
        (Change::Removed(_), Some(tool)) => is_named(tool),
        _ => false,
    };
    let difference = status.differences.iter().find(was_named)?;
    Some(plain(&difference.to_string()).into_owned())
}

/// How to look at changes and how to accept them.
fn advice(servers: &McpServers) -> String {
    let (diff, pin) = (servers.command("diff"), servers.command("pin"));
    format!("Look at the change with `{diff}`, then accept it with `{pin}`")
}

/// Why no server offers a tool.
fn no_tools(servers: &[McpServers], name: &str) -> String {
    let mut why: Vec<String> = servers.iter().flat_map(McpServers::problems).collect();
    if why.is_empty() {
        let commands = servers.iter().map(|servers| servers.command("list"));
        why.extend(commands.map(|list| format!("Run `{list}` for the reasons")));
    }
    let name = plain(name);
    format!(
        "no tool `{name}`: the MCP servers offer no tools. {}",
        why.join(". ")
    )
}
