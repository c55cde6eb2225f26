//! Prompts of servers, as inputs of turns.

use serde_json::Value;
use turnwright_core::record::RecordBuilder;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Error, ErrorCode, Message, TurnInput};

use super::exchange::exchange;
use super::offer::Pages;
use super::result::Parts;
use super::supervisor::Supervised;
use crate::protocol::Failure;

/// Lists the prompts of a server.
pub(super) async fn list(server: &Supervised) -> Result<Vec<Value>, Failure> {
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
pub(super) async fn get(server: &Supervised, name: &str, args: &Value) -> Result<TurnInput, Error> {
    let params = || {
        let params = [("name", name.into()), ("arguments", args.clone())];
        let params = params.map(|(name, value)| (name.to_owned(), value));
        params.into_iter().collect()
    };
    let result = exchange(server, || server.session(), "prompts/get", params, None).await;
    let result = result.map_err(|failure| error(server, &failure))?;
    let messages = result.get("messages").and_then(Value::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let config = server.config();
    input(&config.alias, config.reads_private, None, messages)
}

/// Returns messages of a server as the input of a turn. A third party wrote them, so the model reads them inside an envelope.
/// `private`: whether the server reads private data.
pub(super) fn input(
    alias: &str,
    private: bool,
    system: Option<&str>,
    messages: &[Value],
) -> Result<TurnInput, Error> {
    let mut texts: Vec<String> = system.map(str::to_owned).into_iter().collect();
    let mut parts = Parts::new(alias, None);
    for message in messages {
        let blocks = match message.get("content") {
            Some(Value::Array(blocks)) => blocks.as_slice(),
            Some(block) => std::slice::from_ref(block),
            None => &[],
        };
        blocks.iter().for_each(|block| parts.add(block));
        let text = parts.take_text();
        texts.push(match message.get("role").and_then(Value::as_str) {
            Some("assistant") if !text.is_empty() => format!("Assistant: {text}"),
            _ => text,
        });
    }
    // A message may have media and no text.
    texts.retain(|text| !text.is_empty());
    let message = Message::agent(alias, texts.join("\n\n"))
        .tier(TrustTier::ThirdPartyPublic)
        .private(private);
    let message = parts
        .into_media()
        .into_iter()
        .fold(message, RecordBuilder::media);
    Ok(message.build()?.into())
}

/// Returns the error for an application.
pub(super) fn error(server: &Supervised, failure: &Failure) -> Error {
    let message = format!("the MCP server `{}`: {failure}", server.config().alias);
    Error::new(ErrorCode::TOOL_DOWNSTREAM_ERROR, message)
}
