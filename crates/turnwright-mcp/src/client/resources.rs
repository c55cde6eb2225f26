//! Resources of servers: listed and read by the model with tools, or by the application.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::artifact::ArtifactKind;
use turnwright_core::{Effects, Error, Tool, ToolContext, ToolError, ToolOutput};

use super::connection::Connection;
use super::exchange::{CallListener, exchange};
use super::pages::Pages;
use super::result;
use super::status::{Withheld, WithheldKind};
use crate::definition::exposed_name;
use crate::pin::Difference;
use crate::protocol::{Failure, Listener};

/// The name of the tool that lists resources, after the alias.
const LIST: &str = "mcp_list_resources";
/// The name of the tool that reads a resource, after the alias.
const READ: &str = "mcp_read_resource";

/// Returns the tools for the resources of a server.
///
/// # Errors
/// Returns both as withheld: all of the server is, or they cannot be built.
pub(super) fn tools(
    server: &Arc<Connection>,
    differences: &[Difference],
) -> Result<Vec<Tool>, [Withheld; 2]> {
    let against = differences.iter().find(|found| found.withholds_all());
    let (kind, reason) = match (against, build(server)) {
        (None, Ok(tools)) => return Ok(tools),
        (Some(difference), _) => (WithheldKind::Unpinned, difference.reason()),
        (None, Err(error)) => (WithheldKind::Unusable, error.message().to_owned()),
    };
    Err([LIST, READ].map(|name| Withheld::new(name, kind, reason.clone())))
}

/// Returns the name of the tool with which a model reads resources of a server, if it has that tool now.
pub(super) fn reader(server: &Connection) -> Option<String> {
    let ready = server.ready()?;
    let name = exposed_name(&server.config().alias, READ);
    // The server may have a tool with this name.
    let is_reader = |tool: &Tool| tool.name() == name && tool.meta().get("mcp.tool").is_none();
    ready.tools.iter().any(is_reader).then_some(name)
}

fn build(server: &Arc<Connection>) -> Result<Vec<Tool>, Error> {
    let config = server.config();
    let alias = &config.alias;
    let effects = if config.believe_annotations {
        Effects::ReadOnly
    } else {
        Effects::Writes
    };
    let (lists, reads) = (Arc::clone(server), Arc::clone(server));
    let schema = json!({ "type": "object" });
    let list = config
        .labelled(Tool::dynamic(exposed_name(alias, LIST), schema))
        .description(format!(
            "Lists the resources of the MCP server `{alias}`: their URIs, names and types."
        ))
        .effects(effects)
        .artifact_kind(ArtifactKind::JSON)
        .meta(json!({ "mcp": {} }))
        .handler(move |_: Value, ctx: ToolContext| {
            let server = Arc::clone(&lists);
            async move {
                let listed = list(&server, Some(&ctx)).await;
                let listed =
                    listed.map_err(|failure| result::failure(&failure, &server.config().alias))?;
                let output = ToolOutput::text(Value::Array(listed).to_string());
                Ok::<_, ToolError>(output.of_kind(ArtifactKind::JSON).untrusted())
            }
        })
        .build()?;
    let schema = json!({
        "type": "object", "required": ["uri"], "additionalProperties": false,
        "properties": { "uri": { "type": "string", "minLength": 1, "description": "The URI of the resource." } },
    });
    let read = config
        .labelled(Tool::dynamic(exposed_name(alias, READ), schema))
        .description(format!(
            "Reads a resource of the MCP server `{alias}` by its URI."
        ))
        .effects(effects)
        .meta(json!({ "mcp": {} }))
        .handler(move |args: Value, ctx: ToolContext| {
            let server = Arc::clone(&reads);
            async move {
                let uri = args.get("uri").and_then(Value::as_str).unwrap_or_default();
                let read = read(&server, uri, Some(&ctx)).await;
                read.map_err(|failure| result::failure(&failure, &server.config().alias))
            }
        })
        .build()?;
    Ok(vec![list, read])
}

/// Lists the resources of a server.
pub(super) async fn list(
    server: &Arc<Connection>,
    ctx: Option<&ToolContext>,
) -> Result<Vec<Value>, Failure> {
    if !server.session()?.about().has_resources {
        return Ok(Vec::new());
    }
    let limits = &server.config().limits;
    let pages = Pages {
        method: "resources/list",
        key: "resources",
        most: limits.resources,
        limits,
        listener: ctx.map(|ctx| CallListener::new(server, ctx) as Arc<dyn Listener>),
    };
    pages.read_from(server).await
}

/// Reads a resource.
pub(super) async fn read(
    server: &Arc<Connection>,
    uri: &str,
    ctx: Option<&ToolContext>,
) -> Result<ToolOutput, Failure> {
    let params = || json!({ "uri": uri });
    let result = exchange(server, || server.session(), "resources/read", params, ctx).await?;
    let contents = result.get("contents").and_then(Value::as_array);
    let contents =
        contents.ok_or_else(|| Failure::Malformed("the resource has no `contents`".to_owned()))?;
    let output = result::resource(contents, &server.config().alias);
    Ok(if server.config().reads_private {
        output.private()
    } else {
        output
    })
}
