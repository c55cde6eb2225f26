//! Messages, calls and their results.

use serde_json::Value;

use crate::server::model::anthropic::SIGNATURE;
use crate::server::model::check::{Checked, Known, Problem, is_plain, list, text, wrong};
use crate::server::model::state;

pub(super) fn check(body: &Value, known: &Known<'_>, thinks: bool) -> Checked {
    let messages = list(body, "messages", "body")?;
    let role = |number: usize| messages.get(number).and_then(|it| it.get("role")?.as_str());
    if role(0) != Some("user") {
        return wrong("messages: first message must use the \"user\" role");
    }
    // The calls of the message before.
    let mut open: Vec<&str> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let place = format!("messages.{number}");
        let blocks = content(message, &place)?;
        let is_last = number + 1 == messages.len();
        match role(number) {
            Some("user") => results(blocks, &place, &open)?,
            Some("assistant") => unanswered(number, &open)?,
            _ => {
                return wrong(format!(
                    "{place}.role: Input should be 'user' or 'assistant'"
                ));
            }
        }
        open = match role(number) {
            Some("assistant") => said(blocks, &place, known, is_last)?,
            _ => Vec::new(),
        };
    }
    unanswered(messages.len(), &open)?;
    match thinks {
        true => open_exchange(messages),
        false => Ok(()),
    }
}

/// Returns the blocks of a message. A plain text has none.
fn content<'a>(message: &'a Value, place: &str) -> Result<&'a [Value], Problem> {
    let blocks = match message.get("content") {
        Some(Value::String(text)) if !text.trim().is_empty() => return Ok(&[]),
        Some(Value::Array(blocks)) if !blocks.is_empty() => blocks,
        _ => return wrong(format!("{place}: all messages must have non-empty content")),
    };
    for (number, block) in blocks.iter().enumerate() {
        let place = format!("{place}.content.{number}");
        if text(block, "type", &place)? == "text" && text(block, "text", &place)?.trim().is_empty()
        {
            return wrong("messages: text content blocks must be non-empty");
        }
    }
    Ok(blocks)
}

fn kind(block: &Value) -> &str {
    block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn unanswered(number: usize, open: &[&str]) -> Checked {
    if open.is_empty() {
        return Ok(());
    }
    let (before, ids) = (number.saturating_sub(1), open.join(", "));
    wrong(format!(
        "messages.{before}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. \
         Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    ))
}

/// Checks a message of the user: the results of all open calls first, in their order.
fn results(blocks: &[Value], place: &str, open: &[&str]) -> Checked {
    let mut due = open.iter();
    for (number, block) in blocks.iter().enumerate() {
        let place = format!("{place}.content.{number}");
        match kind(block) {
            "tool_result" => {
                let id = text(block, "tool_use_id", &place)?;
                if !open.contains(&id) {
                    return wrong(format!(
                        "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                         must have a corresponding `tool_use` block in the previous message."
                    ));
                }
                if due.next() != Some(&id) {
                    return wrong(format!(
                        "{place}: results must be in the order of their calls"
                    ));
                }
                result_content(block, &place)?;
            }
            "text" | "image" | "document" | "search_result" if due.len() == 0 => {}
            "text" | "image" | "document" | "search_result" => {
                return wrong(format!("{place}: `tool_result` blocks must come first"));
            }
            other => return wrong(format!("{place}: unexpected block `{other}` of the user")),
        }
    }
    let left: Vec<&str> = due.copied().collect();
    match left.is_empty() {
        true => Ok(()),
        false => wrong(format!(
            "{place}: `tool_use` ids were found without `tool_result` blocks: {}",
            left.join(", ")
        )),
    }
}

fn result_content(block: &Value, place: &str) -> Checked {
    let is_error = block.get("is_error");
    if is_error.is_some_and(|value| !value.is_boolean()) {
        return wrong(format!("{place}.is_error: Input should be a valid boolean"));
    }
    match block.get("content") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            for part in parts {
                let empty = || text(part, "text", place).map(|text| text.trim().is_empty());
                match kind(part) {
                    "text" if empty()? => {
                        return wrong("messages: text content blocks must be non-empty");
                    }
                    "text" | "image" | "document" | "search_result" => {}
                    other => return wrong(format!("{place}: unexpected part `{other}`")),
                }
            }
            Ok(())
        }
        Some(_) => wrong(format!("{place}.content: a string or a list is required")),
    }
}

/// Checks a message of the assistant, and returns its calls.
fn said<'a>(
    blocks: &'a [Value],
    place: &str,
    known: &Known<'_>,
    is_last: bool,
) -> Result<Vec<&'a str>, Problem> {
    let mut calls = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let place = format!("{place}.content.{number}");
        match kind(block) {
            "text" => {}
            "thinking" => {
                let about = text(block, "thinking", &place)?;
                let signature = text(block, "signature", &place)?;
                let checked = state::check(SIGNATURE, known.server, signature, &[about]);
                checked.or_else(|why| {
                    wrong(format!(
                        "{place}: Invalid `signature` in `thinking` block: {why}"
                    ))
                })?;
            }
            "redacted_thinking" => {
                let data = text(block, "data", &place)?;
                if !state::is_block_state(known.server, data) {
                    return wrong(format!(
                        "{place}: Invalid `data` in `redacted_thinking` block"
                    ));
                }
            }
            "tool_use" => {
                let id = text(block, "id", &place)?;
                text(block, "name", &place)?;
                if !is_plain(id) {
                    return wrong(format!(
                        "{place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                    ));
                }
                if calls.contains(&id) {
                    return wrong(format!("{place}: `tool_use` ids must be unique"));
                }
                if !block.get("input").is_some_and(Value::is_object) {
                    return wrong(format!("{place}.input: Input should be a valid dictionary"));
                }
                calls.push(id);
            }
            "server_tool_use" | "mcp_tool_use" => {
                let id = text(block, "id", &place)?;
                let answers =
                    |it: &Value| it.get("tool_use_id").and_then(Value::as_str) == Some(id);
                // A turn that was paused is continued by the server.
                if !is_last && !blocks.iter().any(answers) {
                    return wrong(format!(
                        "{place}: `{id}` was found without a corresponding result block"
                    ));
                }
            }
            other if other.ends_with("_tool_result") => {}
            other => {
                return wrong(format!(
                    "{place}: unexpected block `{other}` of the assistant"
                ));
            }
        }
        encrypted(block, &place, known)?;
    }
    Ok(calls)
}

/// Checks the ciphertexts of results of the server's own tools, and of citations.
fn encrypted(value: &Value, place: &str, known: &Known<'_>) -> Checked {
    match value {
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| encrypted(item, place, known)),
        Value::Object(map) => map.iter().try_for_each(|(name, value)| match value {
            Value::String(state) if name.starts_with("encrypted_") => {
                match state::is_block_state(known.server, state) {
                    true => Ok(()),
                    false => wrong(format!(
                        "{place}: Invalid `{name}`: `{state}` was not issued by this server"
                    )),
                }
            }
            // The input of a call may have any names.
            _ if name == "input" => Ok(()),
            other => encrypted(other, place, known),
        }),
        _ => Ok(()),
    }
}

/// Checks that each assistant message of an open tool exchange starts with its thinking.
fn open_exchange(messages: &[Value]) -> Checked {
    let has = |message: &Value, wanted: &str| {
        let blocks = message.get("content").and_then(Value::as_array);
        blocks
            .into_iter()
            .flatten()
            .any(|block| kind(block) == wanted)
    };
    let of_user = |message: &Value| message.get("role").and_then(Value::as_str) == Some("user");
    let exchange = messages.iter().enumerate().rev();
    // From the end back to the question that it answers.
    let exchange =
        exchange.take_while(|(_, message)| !of_user(message) || has(message, "tool_result"));
    for (number, message) in exchange.filter(|(_, message)| has(message, "tool_use")) {
        let first = message.pointer("/content/0").map(kind).unwrap_or_default();
        if !matches!(first, "thinking" | "redacted_thinking") {
            return wrong(format!(
                "messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When \
                 `thinking` is enabled, a final `assistant` message must start with a thinking block"
            ));
        }
    }
    Ok(())
}
