//! Rules of Anthropic Messages: headers and fields.

mod messages;

use serde_json::Value;

use super::place::Place;
use super::{Checked, Known, must, tool_names};
use crate::server::ReceivedRequest;

/// The version of the API that removed the sampling parameters.
const WITHOUT_SAMPLING: &str = "2026-10-21";

/// Checks the headers, and what the version decides.
pub(super) fn check_head(request: &ReceivedRequest, body: &Value) -> Checked {
    let version = version(request)?;
    for name in ["temperature", "top_p", "top_k"] {
        // Versions are dates, so their texts compare like them.
        must(
            version < WITHOUT_SAMPLING || body.get(name).is_none(),
            format_args!("{name}: not supported in version {version}"),
        )?;
    }
    Ok(())
}

pub(super) fn check(body: &Place<'_>, known: &Known<'_>) -> Checked {
    let names = tool_names(body.at("tools").items())?;
    if let Some(choice) = body.get("tool_choice") {
        let name = choice.text("name");
        choice.must(
            !names.is_empty(),
            "tool_choice may only be specified while providing tools",
        )?;
        choice.must(
            choice.kind() != "tool" || names.contains(&name),
            format_args!("Tool '{name}' not found in provided tools"),
        )?;
    }
    let thinks = thinking(body)?;
    messages::check(body, known, thinks)?;
    cache_marks(body)
}

/// Returns the version of the API. The key is sent as `x-api-key`, or as a bearer token like newer official clients do.
fn version(request: &ReceivedRequest) -> Checked<&str> {
    let key = request.header("x-api-key").unwrap_or_default();
    let bearer = request.header("authorization").unwrap_or_default();
    let token = bearer.strip_prefix("Bearer ").unwrap_or_default();
    if key.is_empty() && token.is_empty() {
        return Err((401, "x-api-key header is required".to_owned()));
    }
    let version = request.header("anthropic-version").unwrap_or_default();
    must(!version.is_empty(), "anthropic-version: header is required")?;
    let is_date = version.len() == 10 && version.chars().all(|c| c.is_ascii_digit() || c == '-');
    must(
        is_date,
        format_args!("anthropic-version: {version} is not a valid version"),
    )?;
    Ok(version)
}

/// Returns whether the model is asked to think.
fn thinking(body: &Place<'_>) -> Checked<bool> {
    let thinking = body.at("thinking");
    match thinking.kind() {
        "adaptive" => {}
        "enabled" => {
            let budget = thinking.at("budget_tokens");
            let limit = body.at("max_tokens").value.as_u64();
            budget.must(
                budget.value.is_u64() && budget.value.as_u64() < limit,
                "must be less than `max_tokens`",
            )?;
        }
        _ => return Ok(false),
    }
    for name in ["temperature", "top_k"] {
        must(
            body.value.get(name).is_none(),
            format_args!("`{name}` may not be set when thinking is enabled"),
        )?;
    }
    must(
        matches!(body.at("tool_choice").kind(), "" | "auto" | "none"),
        "Thinking may not be enabled when tool_choice forces tool use.",
    )?;
    Ok(true)
}

/// Counts the marks of the prompt cache.
fn cache_marks(body: &Place<'_>) -> Checked {
    let is_marked = |place: &Place<'_>| place.at("cache_control").value.is_object();
    let mut places = vec![body.clone()];
    places.extend(body.at("system").items());
    places.extend(body.at("tools").items());
    for message in body.at("messages").items() {
        for block in message.at("content").items() {
            block.must(
                !is_marked(&block) || !is_thinking(&block),
                "cache_control cannot be set on thinking blocks",
            )?;
            places.extend(block.at("content").items());
            places.push(block);
        }
    }
    let found = places.into_iter().filter(is_marked).count();
    must(
        found <= 4,
        format_args!("A maximum of 4 blocks with cache_control may be provided. Found {found}."),
    )
}

fn is_thinking(block: &Place<'_>) -> bool {
    matches!(block.kind(), "thinking" | "redacted_thinking")
}
