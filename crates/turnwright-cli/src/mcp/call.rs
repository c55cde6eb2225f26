//! `turnwright mcp call`: one call through the ordinary call path.

use crate::args::{DEFAULT_BUDGET, McpCall, McpOptions};
use crate::exit::{Exit, misuse};
use crate::extensions::Setting;
use crate::mcp_servers::{self, McpServers};
use crate::terminal::{Screen, Signals, plain};
use crate::tools;

pub(super) async fn run(
    options: McpCall,
    settings: Vec<Setting>,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let of_agent = McpOptions {
        file: Some(options.config.file.clone()),
        unpinned: options.unpinned,
        tool_budget: DEFAULT_BUDGET,
    };
    let mut signals = Signals::listen()?;
    let opened = tokio::select! {
        opened = mcp_servers::open(&of_agent, &mut screen) => opened?,
        signal = signals.next() => return Ok(signal.exit()),
    };
    drop(signals);
    let Some(servers) = opened else {
        return Ok(Exit::Misused);
    };
    let exit = call(&servers, &options, settings, screen).await;
    servers.mcp.stop().await;
    exit
}

async fn call(
    servers: &McpServers,
    options: &McpCall,
    settings: Vec<Setting>,
    screen: Screen,
) -> anyhow::Result<Exit> {
    let tools = servers.mcp.tools();
    if let Some(why) = unusable(servers, &options.name) {
        return Err(misuse(why));
    }
    let tool = tools::find::named(&tools, &options.name)?;
    tools::call::run(tool, &options.call, settings, screen).await
}

/// Why a tool that is known cannot be called.
fn unusable(servers: &McpServers, name: &str) -> Option<String> {
    let (alias, tool) = name.split_once("__")?;
    let status = servers.mcp.status();
    let status = status.iter().find(|status| status.alias == alias)?;
    if let turnwright_mcp::ServerState::Down { reason } = &status.state {
        let doctor = servers.command("doctor");
        return Some(format!(
            "the MCP server `{alias}` is down: {}. Run `{doctor}`",
            mcp_servers::why_down(reason)
        ));
    }
    let mut withheld = status.withheld.iter();
    let withheld = withheld.find(|withheld| withheld.tool == tool)?;
    Some(format!(
        "`{}` is withheld: {}. Run `{}`",
        plain(name),
        plain(&withheld.reason),
        servers.command("diff")
    ))
}
