//! `turnwright mcp list`

use serde_json::{Value, json};
use turnwright::Tool;
use turnwright_mcp::{ServerState, ServerStatus, Withheld, display_name};

use crate::exit::Exit;
use crate::mcp_servers::{McpServers, login_advice, shown};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, fit, one_line, with_fields};
use crate::tools::{effects_painted, facts};

pub(super) fn run(servers: &McpServers, screen: &mut Screen) -> anyhow::Result<Exit> {
    let tools = servers.mcp.tools();
    for status in servers.mcp.status() {
        let offered = |tool: &&Tool| status.tools.iter().any(|name| name == tool.name());
        let tools: Vec<&Tool> = tools.iter().filter(offered).collect();
        screen.value(&value(&status, &tools, servers))?;
        show(&status, &tools, servers, screen)?;
    }
    Ok(Exit::Done)
}

fn show(
    status: &ServerStatus,
    tools: &[&Tool],
    servers: &McpServers,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let (look, state) = match &status.state {
        ServerState::Connected {
            name,
            version,
            protocol_version,
        } => {
            let (name, version) = (one_line(name, 60), one_line(version, 40));
            let about = format!("connected: {name} {version}, protocol {protocol_version}");
            (style::GOOD, about)
        }
        _ if status.requires_login => (style::WARN, login_advice(&servers.config.file)),
        ServerState::Down { reason } => {
            let reason = servers.config.why_down(reason);
            (style::BAD, format!("down: {reason}"))
        }
        _ => (style::WARN, "starting".to_owned()),
    };
    let server = paint(style::BOLD, servers.config.label(&status.alias));
    screen.line(format_args!("{server}  {}", paint(look, state)))?;
    let width = |name: &str| name.chars().count().min(64);
    let names = tools.iter().map(|tool| width(tool.name()));
    let withheld = status.withheld.iter();
    let withheld = withheld.map(|item| width(&display_name(&item.tool)));
    let longest = names.chain(withheld).max().unwrap_or(0);
    let room = screen.columns().saturating_sub(longest + 14).max(8);
    for tool in tools {
        let name = one_line(tool.name(), 64);
        let does = effects_painted(tool, 8);
        let about = fit(&one_line(tool.description(), 1_000), room);
        let name = paint(style::NAME, format_args!("{name:longest$}"));
        screen.line(format_args!("  {name}  {does}  {about}"))?;
    }
    for item in &status.withheld {
        let name = paint(
            style::DIM,
            format_args!("{:longest$}", one_line(&display_name(&item.tool), 64)),
        );
        let why = fit(&one_line(&item.reason, 1_000), room);
        screen.line(format_args!(
            "  {name}  {}  {why}",
            paint(style::BAD, "withheld")
        ))?;
    }
    for warning in &status.warnings {
        let warning = paint(style::WARN, one_line(warning, 500));
        screen.line(format_args!("  {warning}"))?;
    }
    Ok(())
}

fn value(status: &ServerStatus, tools: &[&Tool], servers: &McpServers) -> Value {
    let why = |items: &[Withheld]| -> Value {
        let items = items.iter();
        items
            .map(|item| json!({ "tool": item.tool, "reason": item.reason }))
            .collect()
    };
    let state = match &status.state {
        ServerState::Connected {
            name,
            version,
            protocol_version,
        } => json!({
            "state": "connected", "name": name, "version": version, "protocolVersion": protocol_version,
        }),
        _ if status.requires_login => {
            json!({ "state": "loginRequired", "command": servers.command("doctor") })
        }
        ServerState::Down { reason } => {
            json!({ "state": "down", "reason": servers.config.why_down(reason) })
        }
        _ => json!({ "state": "starting" }),
    };
    let server = json!({ "server": status.alias, "file": shown(&servers.config.file) });
    let tools = json!({
        "tools": tools.iter().map(|tool| facts(tool)).collect::<Value>(),
        "withheld": why(&status.withheld),
        "warnings": status.warnings,
        "leftOut": why(&status.left_out),
    });
    with_fields(with_fields(server, state), tools)
}
