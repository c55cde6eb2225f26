//! Prompts of servers, as inputs of turns.

use serde_json::{Value, json};
use turnwright_core::trust::TrustTier;
use turnwright_core::{Error, ErrorCode, Message, TurnInput};

use super::offer::list_all;
use super::supervisor::Supervised;
use crate::protocol::{Failure, Request};

/// Lists the prompts of a server.
pub(super) async fn list(server: &Supervised) -> Result<Vec<Value>, Failure> {
    let session = server.session()?;
    if !session.about().has_prompts {
        return Ok(Vec::new());
    }
    list_all(
        &*session,
        "prompts/list",
        "prompts",
        &server.config().limits,
        None,
    )
    .await
}

/// Gets a prompt as the input of a turn.
pub(super) async fn get(server: &Supervised, name: &str, args: &Value) -> Result<TurnInput, Error> {
    let failed = |failure: Failure| error(server, &failure);
    let limits = &server.config().limits;
    let request = Request {
        method: "prompts/get",
        params: json!({ "name": name, "arguments": args }),
        idle: limits.idle,
        total: limits.call_total,
        listener: None,
    };
    let answer = server.request(|| server.session(), request).await;
    let answer = answer.map_err(failed)?;
    let messages = answer.result.get("messages").and_then(Value::as_array);
    let texts = messages.into_iter().flatten().filter_map(text_of);
    let text = texts.collect::<Vec<_>>().join("\n\n");
    // A third party wrote it, so the model reads it inside an envelope.
    let message = Message::agent(server.config().alias.as_str(), text);
    let message = message.tier(TrustTier::ThirdPartyPublic).build()?;
    Ok(message.into())
}

fn text_of(message: &Value) -> Option<String> {
    let text = message.get("content")?.get("text")?.as_str()?;
    Some(match message.get("role").and_then(Value::as_str) {
        Some("assistant") => format!("Assistant: {text}"),
        _ => text.to_owned(),
    })
}

/// Returns the error for an application.
pub(super) fn error(server: &Supervised, failure: &Failure) -> Error {
    let message = format!("the MCP server `{}`: {failure}", server.config().alias);
    Error::new(ErrorCode::TOOL_DOWNSTREAM_ERROR, message)
}
