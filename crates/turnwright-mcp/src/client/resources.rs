//! Resources of servers: listed and read by the model with tools, or by the application.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use turnwright_core::artifact::ArtifactKind;
use turnwright_core::{Effects, Error, Tool, ToolContext, ToolError, ToolOutput};

use super::call::tool_error;
use super::exchange::{CallListener, exchange};
use super::offer::Pages;
use super::result;
use super::status::{Withheld, WithheldKind};
use super::supervisor::{State, Supervised};
use crate::definition::exposed_name;
use crate::pin::Difference;
use crate::protocol::{Failure, Listener};

/// The name of the tool that lists resources, after the alias.
const LIST: &str = "mcp_list_resources";
/// The name of the tool that reads a resource, after the alias.
const READ: &str = "mcp_read_resource";

#[derive(Deserialize)]
struct ReadArgs {
    uri: String,
}

/// The tools for the resources of a server.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) tools: Vec<Tool>,
    pub(super) withheld: Vec<Withheld>,
}

/// Returns the tools for the resources of a server. They are withheld if all of the server is.
pub(super) fn tools(server: &Arc<Supervised>, differences: &[Difference]) -> Offered {
    let against = differences.iter().find(|found| found.withholds_all());
    let built = match against {
        Some(difference) => Err((WithheldKind::Unpinned, difference.reason())),
        None => build(server).map_err(|error| (WithheldKind::Unusable, error.message().to_owned())),
    };
    match built {
        Ok(tools) => Offered {
            tools,
            withheld: Vec::new(),
        },
        Err((kind, reason)) => Offered {
            tools: Vec::new(),
            withheld: [LIST, READ]
                .map(|name| Withheld {
                    tool: name.to_owned(),
                    reason: reason.clone(),
                    kind,
                })
                .into(),
        },
    }
}

/// Returns the name of the tool with which a model reads resources of a server, if it has that tool now.
pub(super) fn reader(server: &Supervised) -> Option<String> {
    let State::Ready(ready) = server.state() else {
        return None;
    };
    let name = exposed_name(&server.config().alias, READ);
    // The server may have a tool with this name.
    let is_reader = |tool: &Tool| tool.name() == name && tool.meta().get("mcp.tool").is_none();
    ready.tools.iter().any(is_reader).then_some(name)
}

fn build(server: &Arc<Supervised>) -> Result<Vec<Tool>, Error> {
    let alias = &server.config().alias;
    let effects = if server.config().believe_annotations {
        Effects::ReadOnly
    } else {
        Effects::Writes
    };
    let (lists, reads) = (Arc::clone(server), Arc::clone(server));
    let list = Tool::dynamic(exposed_name(alias, LIST), json!({ "type": "object" }))
        .description(format!(
            "Lists the resources of the MCP server `{alias}`: their URIs, names and types."
        ))
        .effects(effects)
        .artifact_kind(ArtifactKind::JSON)
        .source(alias.as_str())
        .meta(json!({ "mcp": {} }))
        .reads_private(server.config().reads_private)
        .sends_out(server.config().sends_out)
        .handler(move |_: Value, ctx: ToolContext| {
            let server = Arc::clone(&lists);
            async move {
                let listed = list(&server, Some(&ctx)).await;
                let listed =
                    listed.map_err(|failure| tool_error(&failure, &server.config().alias))?;
                let text = Value::Array(listed).to_string();
                Ok::<_, ToolError>(
                    ToolOutput::text(text)
                        .of_kind(ArtifactKind::JSON)
                        .untrusted(),
                )
            }
        })
        .build()?;
    let schema = json!({
        "type": "object", "required": ["uri"], "additionalProperties": false,
        "properties": { "uri": { "type": "string", "minLength": 1, "description": "The URI of the resource." } },
    });
    let read = Tool::dynamic(exposed_name(alias, READ), schema)
        .description(format!(
            "Reads a resource of the MCP server `{alias}` by its URI."
        ))
        .effects(effects)
        .source(alias.as_str())
        .meta(json!({ "mcp": {} }))
        .reads_private(server.config().reads_private)
        .sends_out(server.config().sends_out)
        .handler(move |args: Value, ctx: ToolContext| {
            let server = Arc::clone(&reads);
            async move {
                let ReadArgs { uri } = serde_json::from_value(args)?;
                let read = read(&server, &uri, Some(&ctx)).await;
                read.map_err(|failure| tool_error(&failure, &server.config().alias))
            }
        })
        .build()?;
    Ok(vec![list, read])
}

/// Lists the resources of a server.
pub(super) async fn list(
    server: &Supervised,
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
    server: &Supervised,
    uri: &str,
    ctx: Option<&ToolContext>,
) -> Result<ToolOutput, Failure> {
    let params = || Map::from_iter([("uri".to_owned(), uri.into())]);
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
