//! Messages, calls and their results.

use serde_json::Value;

use super::{filled, is_thinking};
use crate::server::model::anthropic::SIGNATURE;
use crate::server::model::check::place::Place;
use crate::server::model::check::{Checked, Known, is_plain, must};
use crate::server::model::state;

pub(super) fn check(body: &Place<'_>, known: &Known<'_>, thinks: bool) -> Checked {
    let messages = body.list("messages")?;
    must(
        messages.first().and_then(|first| first.str("role")) == Some("user"),
        "messages: first message must use the \"user\" role",
    )?;
    // The calls of the message before.
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let blocks = content(message)?;
        match message.text("role")? {
            "user" => {
                results(message, &blocks, &open)?;
                open.clear();
            }
            "assistant" => {
                answered(&open)?;
                let is_last = index + 1 == messages.len();
                open = calls(&blocks, known, is_last)?;
            }
            _ => return Err(message.problem("role: Input should be 'user' or 'assistant'")),
        }
    }
    answered(&open)?;
    if thinks {
        open_exchange(&messages)
    } else {
        Ok(())
    }
}

/// Returns the blocks of a message. A plain text has none.
fn content<'a>(message: &Place<'a>) -> Checked<Vec<Place<'a>>> {
    let content = message.at("content");
    let is_filled = match content.value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(blocks) => !blocks.is_empty(),
        _ => false,
    };
    message.must(is_filled, "all messages must have non-empty content")?;
    let blocks: Vec<_> = content.items().collect();
    for block in &blocks {
        if block.text("type")? == "text" {
            filled(block)?;
        }
    }
    Ok(blocks)
}

fn answered(open: &[&str]) -> Checked {
    must(
        open.is_empty(),
        format_args!(
            "messages: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
             block must have a corresponding `tool_result` block in the next message.",
            open.join(", ")
        ),
    )
}

/// Checks a message of the user: the results of all open calls first, in their order.
fn results(message: &Place<'_>, blocks: &[Place<'_>], open: &[&str]) -> Checked {
    let mut due = open;
    for block in blocks {
        match block.kind() {
            "tool_result" => {
                let id = block.text("tool_use_id")?;
                block.must(
                    open.contains(&id),
                    format_args!(
                        "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have \
                         a corresponding `tool_use` block in the previous message."
                    ),
                )?;
                let next = due.split_off_first();
                block.must(
                    next == Some(&id),
                    "results must be in the order of their calls",
                )?;
                result(block)?;
            }
            kind => {
                block.must(
                    is_input(kind),
                    format_args!("unexpected block `{kind}` of the user"),
                )?;
                block.must(due.is_empty(), "`tool_result` blocks must come first")?;
            }
        }
    }
    let left = due.join(", ");
    message.must(
        due.is_empty(),
        format_args!("`tool_use` ids were found without `tool_result` blocks: {left}"),
    )
}

/// Returns whether a user or a result may have blocks of this kind.
fn is_input(kind: &str) -> bool {
    matches!(kind, "text" | "image" | "document" | "search_result")
}

fn result(block: &Place<'_>) -> Checked {
    if let Some(is_error) = block.get("is_error") {
        is_error.must(
            is_error.value.is_boolean(),
            "Input should be a valid boolean",
        )?;
    }
    let content = block.at("content");
    content.must(
        matches!(
            content.value,
            Value::Null | Value::String(_) | Value::Array(_)
        ),
        "a string or a list is required",
    )?;
    content.items().try_for_each(|part| match part.kind() {
        "text" => filled(&part),
        kind => part.must(is_input(kind), format_args!("unexpected part `{kind}`")),
    })
}

/// Checks a message of the assistant, and returns its calls.
fn calls<'a>(blocks: &[Place<'a>], known: &Known<'_>, is_last: bool) -> Checked<Vec<&'a str>> {
    let mut calls = Vec::new();
    for block in blocks {
        match block.kind() {
            "text" => {}
            "thinking" => {
                let about = [block.text("thinking")?];
                let checked = known.state(SIGNATURE, block.text("signature")?, &about);
                checked.map_err(|why| {
                    block.problem(format_args!(
                        "Invalid `signature` in `thinking` block: {why}"
                    ))
                })?;
            }
            "redacted_thinking" => block.must(
                state::is_block_state(known.server, block.text("data")?),
                "Invalid `data` in `redacted_thinking` block",
            )?,
            "tool_use" => {
                let id = block.text("id")?;
                block.text("name")?;
                let place = block.at("id");
                place.must(
                    is_plain(id),
                    "String should match pattern '^[a-zA-Z0-9_-]+$'",
                )?;
                place.must(!calls.contains(&id), "`tool_use` ids must be unique")?;
                let input = block.at("input");
                input.must(
                    input.value.is_object(),
                    "Input should be a valid dictionary",
                )?;
                calls.push(id);
            }
            "server_tool_use" | "mcp_tool_use" => {
                let id = block.text("id")?;
                // A turn that was paused is continued by the server.
                block.must(
                    is_last
                        || blocks
                            .iter()
                            .any(|other| other.str("tool_use_id") == Some(id)),
                    format_args!("`{id}` was found without a corresponding result block"),
                )?;
            }
            kind => block.must(
                kind.ends_with("_tool_result"),
                format_args!("unexpected block `{kind}` of the assistant"),
            )?,
        }
        encrypted(block, block.value, known)?;
    }
    Ok(calls)
}

/// Checks the ciphertexts of results of the server's own tools, and of citations.
fn encrypted(block: &Place<'_>, value: &Value, known: &Known<'_>) -> Checked {
    match value {
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| encrypted(block, item, known)),
        Value::Object(map) => map.iter().try_for_each(|(name, value)| match value {
            Value::String(state) if name.starts_with("encrypted_") => block.must(
                state::is_block_state(known.server, state),
                format_args!("Invalid `{name}`: `{state}` was not issued by this server"),
            ),
            // The input of a call may have any names.
            _ if name == "input" => Ok(()),
            other => encrypted(block, other, known),
        }),
        _ => Ok(()),
    }
}

/// Checks that each assistant message of an open tool exchange starts with its thinking.
fn open_exchange(messages: &[Place<'_>]) -> Checked {
    let has = |message: &Place<'_>, kind: &str| {
        let content = message.at("content");
        content.items().any(|block| block.kind() == kind)
    };
    // From the end back to the question that it answers.
    let exchange = messages
        .iter()
        .rev()
        .take_while(|message| message.str("role") != Some("user") || has(message, "tool_result"));
    for message in exchange.filter(|message| has(message, "tool_use")) {
        if let Some(first) = message.at("content").items().next() {
            first.at("type").must(
                is_thinking(&first),
                format_args!(
                    "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final \
                     `assistant` message must start with a thinking block",
                    first.kind()
                ),
            )?;
        }
    }
    Ok(())
}
