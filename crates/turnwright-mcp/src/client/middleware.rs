//! Keeps the tools of a turn up to date with its servers.

use std::collections::HashMap;

use async_trait::async_trait;
use turnwright_core::record::Retrievable;
use turnwright_core::schema::escape;
use turnwright_core::trust::TrustTier;
use turnwright_core::{
    BoxError, DispatchContext, Error, ErrorCode, Middleware, Next, Tool, ToolRegistry, TurnContext,
};

use super::connection::{Connection, State};
use super::mcp::{Mcp, Sets};
use super::status::Withheld;
use crate::definition::harmless;

/// Maximum length of a warning.
const MAX_WARNING: usize = 1_000;

#[async_trait]
impl Middleware<TurnContext> for Mcp {
    async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        self.join(&ctx.per_turn::<Sets>())?;
        self.ready().await;
        for server in self.connections() {
            server.refresh();
            report(server, &ctx);
            sync(server, ctx.tools())?;
            show_instructions(server, &ctx)?;
        }
        next.run().await
    }

    fn check(&self) -> Result<(), Error> {
        Mcp::check(self)
    }

    fn name(&self) -> &'static str {
        "mcp"
    }
}

#[async_trait]
impl Middleware<DispatchContext> for Mcp {
    async fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> Result<(), BoxError> {
        for server in self.connections() {
            if sync(server, ctx.tools())? {
                report(server, ctx.turn());
            }
        }
        next.run().await
    }

    fn name(&self) -> &'static str {
        "mcp"
    }
}

/// Makes the registry have exactly the tools that the server offers now. Returns whether that changed anything.
fn sync(server: &Connection, registry: &ToolRegistry) -> Result<bool, Error> {
    let alias = server.config().alias.as_str();
    let ready = server.ready();
    let wanted = ready.as_ref().map_or(&[][..], |ready| &ready.tools);
    let is_ours = |tool: &Tool| tool.source() == Some(alias) && is_remote(tool);
    let fingerprints: HashMap<&str, &str> = wanted
        .iter()
        .map(|tool| (tool.name(), tool.fingerprint()))
        .collect();
    let mut changed = false;
    for tool in registry.all().iter().filter(|tool| is_ours(tool)) {
        if fingerprints.get(tool.name()) != Some(&tool.fingerprint()) {
            registry.unregister(tool.name());
            changed = true;
        }
    }
    for tool in wanted {
        match registry.get(tool.name()) {
            Some(present) if is_ours(&present) => {}
            Some(other) => return Err(clash(tool, alias, &other)),
            None => {
                registry.register(tool.clone())?;
                changed = true;
            }
        }
    }
    Ok(changed)
}

/// Returns whether a tool is one of an MCP server.
fn is_remote(tool: &Tool) -> bool {
    tool.meta().get("mcp").is_some()
}

/// Shows the instructions of a server to the model, if that is wanted. They are third-party text. Instructions that differ from their
/// pin are not shown.
fn show_instructions(server: &Connection, ctx: &TurnContext) -> Result<(), Error> {
    let config = server.config();
    let Some(ready) = server.ready().filter(|_| config.use_instructions) else {
        return Ok(());
    };
    let Some(text) = &ready.session.about().instructions else {
        return Ok(());
    };
    if ready.differences.iter().any(|one| one.tool.is_none()) {
        return Ok(());
    }
    let alias = &config.alias;
    let text = harmless(text, config.limits.description_chars);
    let shown = Retrievable::text(text, TrustTier::ThirdPartyPublic)
        .id(format!("mcp-instructions-{alias}"))
        .source(format!("instructions of the MCP server `{alias}`"))
        .private(config.reads_private)
        .build()?;
    ctx.records().add(shown);
    Ok(())
}

fn clash(tool: &Tool, alias: &str, other: &Tool) -> Error {
    let name = tool.name();
    let whose = match other.source() {
        Some(source) if is_remote(other) => format!("a tool of the MCP server `{source}`"),
        Some(source) => format!("your tool with the source `{source}`"),
        None => "your own tool".to_owned(),
    };
    let message = format!(
        "the tool `{name}` of the MCP server `{alias}` has the name of {whose}: rename that one, or give the server \
         another alias"
    );
    Error::new(ErrorCode::TOOL_ALREADY_REGISTERED, message)
}

/// Warns operators about a server that is not there, and about what is wrong with its tools.
fn report(server: &Connection, ctx: &TurnContext) {
    let alias = &server.config().alias;
    // The server wrote parts of it.
    let warn = |message: String| ctx.warn(escape(&message, MAX_WARNING));
    match server.state() {
        State::Stopped | State::Starting => warn(format!(
            "the MCP server `{alias}` is not ready: its tools are missing"
        )),
        State::Authorizing => warn(format!(
            "the MCP server `{alias}` waits for authorisation: its tools are missing"
        )),
        State::Down { reason, .. } => warn(format!(
            "the MCP server `{alias}` is down, its tools are missing: {reason}"
        )),
        State::Ready(ready) => {
            for Withheld { tool, reason, .. } in &ready.withheld {
                let tool = escape(tool, 80);
                warn(format!(
                    "`{tool}` of the MCP server `{alias}` is withheld: {reason}"
                ));
            }
            for warning in &ready.warnings {
                warn(format!("the MCP server `{alias}`: {warning}"));
            }
        }
    }
}
