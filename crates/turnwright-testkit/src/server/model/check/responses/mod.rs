//! Rules of Responses: fields and tools.

mod items;

use serde_json::Value;

use super::place::Place;
use super::{Checked, Known, must, tool_names};

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

pub(super) fn check(body: &Place<'_>, known: &Known<'_>) -> Checked {
    body.known_fields(&FIELDS)?;
    body.text("model")?;
    tools(body)?;
    if let Some(id) = body.str("previous_response_id") {
        must(
            id.starts_with(&format!("resp_{}_", known.server)),
            format_args!("Previous response with id '{id}' not found."),
        )?;
    }
    let input = body.at("input");
    match input.value {
        Value::String(_) => Ok(()),
        Value::Array(items) if !items.is_empty() => items::check(body, known),
        _ => must(false, "Missing required parameter: 'input'."),
    }
}

fn tools(body: &Place<'_>) -> Checked {
    let mut names = Vec::new();
    for tool in body.optional("tools")? {
        if tool.text("type")? != "function" {
            continue;
        }
        names.push(tool.text("name")?);
        let strict = tool.at("strict");
        strict.must(
            strict.value.is_boolean(),
            "must be sent: without it the server rewrites the schema",
        )?;
        if strict.value == &Value::Bool(true) {
            closed(&tool.at("parameters"))?;
        }
    }
    tool_names(&names, 64)?;
    let chosen = body.at("tool_choice").str("name");
    must(
        chosen.is_none_or(|name| names.contains(&name)),
        format_args!(
            "Tool choice '{}' not found in 'tools' parameter.",
            chosen.unwrap_or_default()
        ),
    )
}

/// Checks that each object of a strict schema is closed and requires all of its properties.
fn closed(schema: &Place<'_>) -> Checked {
    if schema.value.is_null() {
        return Ok(());
    }
    if schema.kind() == "object" {
        let required: Vec<_> = schema
            .at("required")
            .items()
            .map(|name| name.value)
            .collect();
        let properties = schema.at("properties");
        let names = properties
            .value
            .as_object()
            .into_iter()
            .flat_map(|all| all.keys());
        let is_closed = schema.at("additionalProperties").value == &Value::Bool(false);
        schema.must(
            is_closed && names.clone().all(|name| required.iter().any(|it| *it == name)),
            "Invalid schema for function: 'additionalProperties' is required to be supplied and to be false, and \
             'required' to include every key in properties.",
        )?;
        for name in names {
            closed(&properties.at(name))?;
        }
    }
    closed(&schema.at("items"))
}
