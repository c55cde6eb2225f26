//! Rules of Responses.

mod items;
mod tools;

use serde_json::Value;

use super::{Checked, Known, known_fields, text, wrong};

const FIELDS: [&str; 29] = [
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
];

pub(super) fn check(body: &Value, known: &Known<'_>) -> Checked {
    known_fields(body, &FIELDS, "body")?;
    text(body, "model", "body")?;
    tools::check(body)?;
    let previous = body.get("previous_response_id").and_then(Value::as_str);
    if let Some(id) = previous.filter(|id| !id.starts_with(&format!("resp_{}_", known.server))) {
        return wrong(format!("Previous response with id '{id}' not found."));
    }
    match body.get("input") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(input)) if !input.is_empty() => items::check(body, input, known),
        _ => wrong("Missing required parameter: 'input'."),
    }
}
