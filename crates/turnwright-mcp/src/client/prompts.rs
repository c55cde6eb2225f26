//! Prompts of servers, as inputs of turns.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::{Error, ErrorCode, TurnInput};

use super::connection::Connection;
use super::exchange::exchange;
use super::pages::Pages;
use super::result;
use crate::protocol::Failure;

/// Lists the prompts of a server.
pub(super) async fn list(server: &Connection) -> Result<Vec<Value>, Failure> {
    if !server.session()?.about().has_prompts {
        return Ok(Vec::new());
    }
    let limits = &server.config().limits;
    let pages = Pages {
        method: "prompts/list",
        key: "prompts",
        most: limits.prompts,
        limits,
        listener: None,
    };
    pages.read_from(server).await
}

/// Gets a prompt as the input of a turn.
pub(super) async fn get(
    server: &Arc<Connection>,
    name: &str,
    args: &Value,
) -> Result<TurnInput, Error> {
    let params = || json!({ "name": name, "arguments": args });
    let result = exchange(server, || server.session(), "prompts/get", params, None)
        .await
        .map_err(|failure| error(server, &failure))?;
    let messages = result.get("messages").and_then(Value::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let config = server.config();
    result::turn_input(&config.alias, config.reads_private, None, messages)
}

/// Returns the error for an application.
pub(super) fn error(server: &Connection, failure: &Failure) -> Error {
    let message = format!("the MCP server `{}`: {failure}", server.config().alias);
    Error::new(ErrorCode::TOOL_DOWNSTREAM_ERROR, message)
}
