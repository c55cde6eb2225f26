//! Keeps the tools of a turn up to date with its servers.

use async_trait::async_trait;
use turnwright_core::record::Retrievable;
use turnwright_core::trust::TrustTier;
use turnwright_core::{
    BoxError, DispatchContext, Error, ErrorCode, Middleware, Next, Tool, ToolRegistry, TurnContext,
};

use super::mcp::Mcp;
use super::status::Withheld;
use super::supervisor::{State, Supervised};
use crate::definition::harmless;

#[async_trait]
impl Middleware<TurnContext> for Mcp {
    async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        for server in self.ready().await {
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
        for server in self.servers() {
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
fn sync(server: &Supervised, registry: &ToolRegistry) -> Result<bool, Error> {
    let alias = server.config().alias.as_str();
    let wanted: Vec<Tool> = match server.state() {
        State::Ready(ready) => ready.tools.clone(),
        State::Stopped | State::Starting | State::Authorizing | State::Down(_) => Vec::new(),
    };
    let is_ours = |tool: &Tool| tool.source() == Some(alias) && tool.meta().get("mcp").is_some();
    let mut changed = false;
    for tool in registry.all().iter().filter(|tool| is_ours(tool)) {
        let same =
            |other: &Tool| other.name() == tool.name() && other.fingerprint() == tool.fingerprint();
        if !wanted.iter().any(same) {
            registry.unregister(tool.name());
            changed = true;
        }
    }
    for tool in wanted {
        match registry.get(tool.name()) {
            Some(present) if is_ours(&present) => {}
            Some(_) => return Err(clash(&tool, alias)),
            None => {
                registry.register(tool)?;
                changed = true;
            }
        }
    }
    Ok(changed)
}

/// Shows the instructions of a server to the model, if that is wanted. They are third-party text. Instructions that differ from their
/// pin are not shown.
fn show_instructions(server: &Supervised, ctx: &TurnContext) -> Result<(), Error> {
    let State::Ready(ready) = server.state() else {
        return Ok(());
    };
    let changed = ready
        .differences
        .iter()
        .any(|difference| difference.tool.is_none());
    let about = ready.session.about();
    let wanted = server.config().use_instructions && !changed;
    let Some(text) = about.instructions.as_deref().filter(|_| wanted) else {
        return Ok(());
    };
    let alias = &server.config().alias;
    let text = harmless(text, server.config().limits.description_chars);
    let shown = Retrievable::text(text, TrustTier::ThirdPartyPublic)
        .id(format!("mcp-instructions-{alias}"))
        .source(format!("instructions of the MCP server `{alias}`"))
        .build()?;
    ctx.records().add(shown);
    Ok(())
}

fn clash(tool: &Tool, alias: &str) -> Error {
    let name = tool.name();
    let message = format!(
        "the tool `{name}` of the MCP server `{alias}` has the name of another tool: rename that tool, or give the server \
         another alias"
    );
    Error::new(ErrorCode::TOOL_ALREADY_REGISTERED, message)
}

/// Warns operators about a server that is not there, and about tools that are withheld.
fn report(server: &Supervised, ctx: &TurnContext) {
    let alias = &server.config().alias;
    match server.state() {
        State::Stopped | State::Starting => {
            ctx.warn(format!(
                "the MCP server `{alias}` is not ready: its tools are missing"
            ));
        }
        State::Authorizing => {
            ctx.warn(format!(
                "the MCP server `{alias}` waits for authorisation: its tools are missing"
            ));
        }
        State::Down(reason) => {
            ctx.warn(format!(
                "the MCP server `{alias}` is down, its tools are missing: {reason}"
            ));
        }
        State::Ready(ready) => {
            for Withheld { tool, reason, .. } in &ready.withheld {
                ctx.warn(format!(
                    "`{tool}` of the MCP server `{alias}` is withheld: {reason}"
                ));
            }
        }
    }
}
