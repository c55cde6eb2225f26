//! Messages, calls and their results.

use serde_json::Value;

use super::is_thinking;
use crate::server::model::anthropic::SIGNATURE;
use crate::server::model::check::place::Place;
use crate::server::model::check::{Checked, Known, OpenCalls, must};
use crate::server::model::state;

pub(super) fn check(body: &Place<'_>, known: &Known<'_>, thinks: bool) -> Checked {
    let messages: Vec<_> = body.at("messages").items().collect();
    must(
        messages.first().and_then(|first| first.str("role")) == Some("user"),
        "messages: first message must use the \"user\" role",
    )?;
    let mut open = OpenCalls::default();
    for (index, message) in messages.iter().enumerate() {
        let blocks: Vec<_> = message.at("content").items().collect();
        let is_result = |block: &Place<'_>| block.kind() == "tool_result";
        let (results, others): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| is_result(block));
        for (block, result) in blocks.iter().zip(&results) {
            open.result(result, result.text("tool_use_id"))?;
            block.must(is_result(block), "`tool_result` blocks must come first")?;
        }
        open.answered()?;
        if message.text("role") == "assistant" {
            for block in others {
                // A turn that was paused is continued by the server.
                let is_last = index + 1 == messages.len();
                own(block, &blocks, known, is_last)?;
                if block.kind() == "tool_use" {
                    open.call(block, block.text("id"))?;
                }
            }
        }
    }
    open.answered()?;
    if thinks {
        open_exchange(&messages)
    } else {
        Ok(())
    }
}

/// Checks a block of the assistant.
fn own(block: &Place<'_>, blocks: &[Place<'_>], known: &Known<'_>, is_last: bool) -> Checked {
    match block.kind() {
        "thinking" => {
            let checked = known.state(
                SIGNATURE,
                block.text("signature"),
                &[block.text("thinking")],
            );
            checked.map_err(|why| {
                block.problem(format_args!(
                    "Invalid `signature` in `thinking` block: {why}"
                ))
            })?;
        }
        "redacted_thinking" => block.must(
            state::is_block_state(known.server, block.text("data")),
            "Invalid `data` in `redacted_thinking` block",
        )?,
        "server_tool_use" | "mcp_tool_use" => {
            let id = block.text("id");
            let mut others = blocks.iter();
            block.must(
                is_last || others.any(|other| other.str("tool_use_id") == Some(id)),
                format_args!("`{id}` was found without a corresponding result block"),
            )?;
        }
        _ => {}
    }
    encrypted(block, block.value, known)
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
