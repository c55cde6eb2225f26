//! Pins the tools of a configuration that has no lock file yet.

use std::fmt;

use serde_json::Value;
use turnwright_mcp::{
    LockFile, Mcp, Pinning, ServerState, WithheldKind, display_name, exposed_name,
};

use super::{Config, command, lock_file};
use crate::exit::misuse;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, confirm, one_line, plain};
use crate::units::{count, plural};

/// The most characters of a text: a model gets no more of a description.
const MAX_TEXT: usize = 10_000;

/// Shows the tools of all servers to a person, and pins them.
///
/// # Errors
/// The person says no, no server is connected, or there is no terminal to ask.
pub(super) async fn pin_first(config: &Config, screen: &mut Screen) -> anyhow::Result<()> {
    let pin = command("pin", &config.file);
    let lock = lock_file(config);
    if !screen.is_interactive() {
        return Err(misuse(format!(
            "the tools of `{}` are not pinned: there is no `{}`. Run `{pin}` (with `--yes` in a script), or pass `--mcp-unpinned` \
             to use whatever the servers offer",
            super::shown(&config.file),
            super::shown(&lock)
        )));
    }
    let mcp = Mcp::new(config.servers(true)?).pinning(Pinning::Unpinned);
    screen.busy("starting the MCP servers");
    mcp.start().await?;
    screen.rest();
    let pins = mcp.pins();
    let shown = show(config, &mcp, &pins, screen);
    let usable = usable(&mcp, &pins);
    mcp.stop().await;
    shown?;
    if pins.servers.is_empty() {
        let doctor = command("doctor", &config.file);
        anyhow::bail!("no MCP server is connected, so there is nothing to pin. Run `{doctor}`");
    }
    let tools = plural(usable, "tool");
    screen.dim(
        "  If a definition changes later, the tool is withheld until you have seen the difference and pinned it.",
    )?;
    anyhow::ensure!(
        confirm(&format!("  Pin {tools}? yes or no: ")).await?,
        "nothing was pinned. To pin the tools later, run `{pin}`"
    );
    pins.write(&lock)?;
    screen.dim(format!("Pinned in {}", super::shown(&lock)))?;
    Ok(())
}

/// Shows the tools of each server, and why a server has none.
fn show(config: &Config, mcp: &Mcp, pins: &LockFile, screen: &mut Screen) -> anyhow::Result<()> {
    screen.warn("These tools are not pinned yet. Their texts are by the servers:")?;
    for status in mcp.status() {
        let label = config.label(&status.alias);
        if let ServerState::Down { reason } = &status.state {
            let text = format!("{label} is down: {}", config.why_down(reason));
            screen.warn(text)?;
        }
        let server = pins.servers.get(&status.alias);
        let tools = server.map(|server| &server.tools);
        for (name, tool) in tools.into_iter().flatten() {
            show_definition(&label, name, &tool.definition, screen)?;
        }
    }
    for text in unusable(mcp).iter().map(Unusable::to_string) {
        screen.warn(text)?;
    }
    Ok(())
}

/// A tool that cannot be used, whether it is pinned or not.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Unusable {
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
pub(crate) fn unusable(mcp: &Mcp) -> Vec<Unusable> {
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
pub(crate) fn usable(mcp: &Mcp, pins: &LockFile) -> u64 {
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

/// Shows the name of a tool and everything in its definition that a model reads: descriptions and titles, also those of parameters,
/// and the rest of the schema. Invisible characters are made visible. `server` is the name of the server in messages.
pub(crate) fn show_definition(
    server: &str,
    name: &str,
    definition: &Value,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let name = paint(style::NAME, one_line(&display_name(name), 80));
    screen.line(format_args!("{server}: {name}"))?;
    let text = |key: &str| definition.get(key).and_then(Value::as_str);
    let description = text("description").or_else(|| text("title"));
    quote(description.unwrap_or("(no description)"), screen)?;
    for (pointer, text) in inner_texts(definition) {
        quote(&format!("{pointer}: {text}"), screen)?;
    }
    let schema = definition.get("inputSchema").unwrap_or(&Value::Null);
    let schema = format!("parameters: {}", without_prose(schema));
    quote_all(&turnwright_mcp::display_text(&schema), screen)
}

/// Shows a text of a server.
pub(crate) fn quote(text: &str, screen: &mut Screen) -> anyhow::Result<()> {
    let text = turnwright_mcp::display_text(text.trim());
    let length = text.chars().count();
    let mut shown: String = text.chars().take(MAX_TEXT).collect();
    if length > MAX_TEXT {
        let more = count((length - MAX_TEXT) as u64);
        shown.push_str(&format!("… ({more} more characters)"));
    }
    quote_all(&shown, screen)
}

fn quote_all(text: &str, screen: &mut Screen) -> anyhow::Result<()> {
    Ok(screen.quoting(style::DIM, "  │ ", "  │ ", &plain(text))?)
}

/// The descriptions and titles inside of the fields of a definition, with their pointers.
fn inner_texts(definition: &Value) -> Vec<(String, &str)> {
    let mut texts = Vec::new();
    let mut open: Vec<(String, &Value)> = Vec::new();
    let fields = definition.as_object().into_iter().flatten();
    open.extend(fields.map(|(name, field)| (name.clone(), field)));
    open.reverse();
    while let Some((at, value)) = open.pop() {
        let first = open.len();
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    match field {
                        Value::String(text) if is_prose(name) => {
                            texts.push((format!("{at}.{name}"), text.as_str()));
                        }
                        field => open.push((format!("{at}.{name}"), field)),
                    }
                }
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(index, item)| (format!("{at}.{index}"), item)));
            }
            _ => {}
        }
        // The last one is taken first.
        if let Some(added) = open.get_mut(first..) {
            added.reverse();
        }
    }
    texts
}

/// A schema without the texts that are shown by themselves.
fn without_prose(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let mut open = vec![&mut schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, field| !(is_prose(name) && field.is_string()));
                open.extend(fields.values_mut());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    schema
}

fn is_prose(name: &str) -> bool {
    matches!(name, "description" | "title" | "$comment")
}
