//! Rules of Responses: fields and tools.

mod items;

use serde_json::Value;

use super::place::Place;
use super::{Checked, Known, must, tool_names};

pub(super) fn check(body: &Place<'_>, known: &Known<'_>) -> Checked {
    let is_function = |tool: &Place<'_>| tool.kind() == "function";
    let names = tool_names(body.at("tools").items().filter(is_function))?;
    for tool in body.at("tools").items() {
        if tool.at("strict").value == &Value::Bool(true) {
            closed(&tool.at("parameters"))?;
        }
    }
    let chosen = body.at("tool_choice").str("name");
    must(
        chosen.is_none_or(|name| names.contains(&name)),
        format_args!(
            "Tool choice '{}' not found in 'tools' parameter.",
            chosen.unwrap_or_default()
        ),
    )?;
    if let Some(id) = body.str("previous_response_id") {
        must(
            id.starts_with(&format!("resp_{}_", known.server)),
            format_args!("Previous response with id '{id}' not found."),
        )?;
    }
    items::check(body, known)
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
