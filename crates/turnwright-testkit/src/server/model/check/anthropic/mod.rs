//! Rules of Anthropic Messages.

mod messages;
mod tools;

use serde_json::Value;

use super::{Checked, Known, known_fields, optional, text, wrong};
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

pub(super) fn check(request: &ReceivedRequest, body: &Value, known: &Known<'_>) -> Checked {
    let version = headers(request)?;
    known_fields(body, &FIELDS, "body")?;
    text(body, "model", "body")?;
    let Some(most @ 1..) = body.get("max_tokens").and_then(Value::as_u64) else {
        return wrong("max_tokens: Field required");
    };
    system(body)?;
    tools::check(body)?;
    sampling(body, version)?;
    let thinks = thinking(body, most)?;
    messages::check(body, known, thinks)?;
    cache_marks(body)
}

/// The version of the API that removed the sampling parameters.
const WITHOUT_SAMPLING: &str = "2026-10-21";

/// Returns the version of the API. The key is sent as `x-api-key`, or as a bearer token like newer official clients do.
fn headers(request: &ReceivedRequest) -> Result<&str, super::Problem> {
    let key = request.header("x-api-key").unwrap_or_default();
    let bearer = request.header("authorization").unwrap_or_default();
    let token = bearer.strip_prefix("Bearer ").unwrap_or_default();
    if key.is_empty() && token.is_empty() {
        return Err((401, "x-api-key header is required".to_owned()));
    }
    let version = request.header("anthropic-version").unwrap_or_default();
    let is_date = version.len() == 10 && version.chars().all(|c| c.is_ascii_digit() || c == '-');
    match (version, is_date) {
        ("", _) => wrong("anthropic-version: header is required"),
        (_, true) => Ok(version),
        _ => wrong(format!(
            "anthropic-version: {version} is not a valid version"
        )),
    }
}

fn sampling(body: &Value, version: &str) -> Checked {
    let names = ["temperature", "top_p", "top_k"];
    let sent = names.iter().find(|name| body.get(**name).is_some());
    match sent {
        // Versions are dates, so their texts compare like them.
        Some(name) if version >= WITHOUT_SAMPLING => {
            wrong(format!("{name}: not supported in version {version}"))
        }
        _ => Ok(()),
    }
}

fn system(body: &Value) -> Checked {
    match body.get("system") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                if text(block, "type", "system")? != "text"
                    || text(block, "text", "system")?.trim().is_empty()
                {
                    return wrong("system: text content blocks must be non-empty");
                }
            }
            Ok(())
        }
        Some(_) => wrong("system: a string or a list of text blocks is required"),
    }
}

/// Returns whether the model is asked to think.
fn thinking(body: &Value, most: u64) -> Result<bool, super::Problem> {
    let Some(thinking) = body.get("thinking") else {
        return Ok(false);
    };
    match text(thinking, "type", "thinking")? {
        "disabled" => return Ok(false),
        "adaptive" => {}
        "enabled" => {
            let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
            match budget {
                Some(budget) if (1024..most).contains(&budget) => {}
                _ => {
                    return wrong(
                        "thinking.enabled.budget_tokens: must be at least 1024 and less than `max_tokens`",
                    );
                }
            }
        }
        other => return wrong(format!("thinking.type: unknown value `{other}`")),
    }
    for name in ["temperature", "top_k"] {
        if body.get(name).is_some() {
            return wrong(format!("`{name}` may not be set when thinking is enabled"));
        }
    }
    let choice = body.pointer("/tool_choice/type").and_then(Value::as_str);
    match choice {
        None | Some("auto" | "none") => Ok(true),
        Some(_) => wrong("Thinking may not be enabled when tool_choice forces tool use."),
    }
}

/// Counts the marks of the prompt cache.
fn cache_marks(body: &Value) -> Checked {
    let marked =
        |value: &Value| usize::from(value.get("cache_control").is_some_and(Value::is_object));
    let mut found = marked(body);
    let blocks = |value: &Value, name: &str| {
        let blocks = value.get(name).and_then(Value::as_array);
        blocks.cloned().unwrap_or_default()
    };
    found += blocks(body, "system").iter().map(marked).sum::<usize>();
    found += blocks(body, "tools").iter().map(marked).sum::<usize>();
    for message in optional(body, "messages", "body")? {
        for block in blocks(message, "content") {
            found += marked(&block) + blocks(&block, "content").iter().map(marked).sum::<usize>();
            let kind = block.get("type").and_then(Value::as_str);
            if marked(&block) > 0 && matches!(kind, Some("thinking" | "redacted_thinking")) {
                return wrong("cache_control cannot be set on thinking blocks");
            }
        }
    }
    match found <= 4 {
        true => Ok(()),
        false => wrong(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {found}."
        )),
    }
}
