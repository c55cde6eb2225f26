//! Rules of Anthropic Messages: headers and fields.

mod messages;

use serde_json::Value;

use super::place::Place;
use super::{Checked, Known, must, tool_names};
use crate::server::ReceivedRequest;

const FIELDS: [&str; 20] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
    "tools",
    "tool_choice",
    "thinking",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "cache_control",
    "output_config",
    "inference_geo",
];

/// The version of the API that removed the sampling parameters.
const WITHOUT_SAMPLING: &str = "2026-10-21";

pub(super) fn check(request: &ReceivedRequest, body: &Place<'_>, known: &Known<'_>) -> Checked {
    let version = version(request)?;
    body.known_fields(&FIELDS)?;
    body.text("model")?;
    let most = body.at("max_tokens");
    let limit = most.value.as_u64().filter(|limit| *limit > 0);
    let limit = limit.ok_or_else(|| most.problem("Field required"))?;
    system(body)?;
    let names = tools(body)?;
    choice(body, &names)?;
    for name in ["temperature", "top_p", "top_k"] {
        // Versions are dates, so their texts compare like them.
        body.at(name).must(
            version < WITHOUT_SAMPLING || body.value.get(name).is_none(),
            format_args!("not supported in version {version}"),
        )?;
    }
    let thinks = thinking(body, limit)?;
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

/// Checks that a text block is not empty.
fn filled(block: &Place<'_>) -> Checked {
    let is_filled = !block.text("text")?.trim().is_empty();
    block.must(is_filled, "text content blocks must be non-empty")
}

fn system(body: &Place<'_>) -> Checked {
    let system = body.at("system");
    match system.value {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(_) => system.items().try_for_each(|block| {
            block.must(block.kind() == "text", "only `text` is known")?;
            filled(&block)
        }),
        _ => Err(system.problem("a string or a list of text blocks is required")),
    }
}

fn tools<'a>(body: &Place<'a>) -> Checked<Vec<&'a str>> {
    let mut names = Vec::new();
    for tool in body.optional("tools")? {
        names.push(tool.text("name")?);
        if !matches!(tool.kind(), "" | "custom") {
            continue;
        }
        let schema = tool.at("input_schema");
        schema.must(schema.value.is_object(), "Field required")?;
        let kind = schema.at("type");
        kind.must(!kind.value.is_null(), "Field required")?;
        kind.must(kind.value == "object", "Input should be 'object'")?;
        schema.must(
            !["oneOf", "allOf", "anyOf"]
                .iter()
                .any(|union| schema.has(union)),
            "input_schema does not support oneOf, allOf, or anyOf at the top level",
        )?;
    }
    tool_names(&names, 128)?;
    Ok(names)
}

fn choice(body: &Place<'_>, names: &[&str]) -> Checked {
    let Some(choice) = body.get("tool_choice") else {
        return Ok(());
    };
    choice.must(
        !names.is_empty(),
        "tool_choice may only be specified while providing tools",
    )?;
    match choice.text("type")? {
        "auto" | "any" | "none" => Ok(()),
        "tool" => {
            let name = choice.text("name")?;
            let message = format_args!("Tool '{name}' not found in provided tools");
            choice.must(names.contains(&name), message)
        }
        other => Err(choice.problem(format_args!("unknown type `{other}`"))),
    }
}

/// Returns whether the model is asked to think.
fn thinking(body: &Place<'_>, limit: u64) -> Checked<bool> {
    let Some(thinking) = body.get("thinking") else {
        return Ok(false);
    };
    match thinking.text("type")? {
        "disabled" => return Ok(false),
        "adaptive" => {}
        "enabled" => {
            let budget = thinking.at("budget_tokens");
            budget.must(
                budget
                    .value
                    .as_u64()
                    .is_some_and(|budget| (1024..limit).contains(&budget)),
                "must be at least 1024 and less than `max_tokens`",
            )?;
        }
        other => return Err(thinking.problem(format_args!("unknown type `{other}`"))),
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
