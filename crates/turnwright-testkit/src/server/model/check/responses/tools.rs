//! Tools and the choice of one.

use serde_json::Value;

use crate::server::model::check::{Checked, optional, text, tool_names, wrong};

pub(super) fn check(body: &Value) -> Checked {
    let mut names = Vec::new();
    for (number, tool) in optional(body, "tools", "body")?.iter().enumerate() {
        let place = format!("tools[{number}]");
        if text(tool, "type", &place)? != "function" {
            continue;
        }
        names.push(text(tool, "name", &place)?);
        match tool.get("strict") {
            Some(Value::Bool(true)) => closed(tool.get("parameters"), &place)?,
            Some(Value::Bool(false)) => {}
            _ => {
                return wrong(format!(
                    "{place}.strict: must be sent: without it the server rewrites the schema"
                ));
            }
        }
    }
    tool_names(&names, 64)?;
    let choice = body.get("tool_choice").filter(|choice| choice.is_object());
    let Some(choice) = choice else {
        return Ok(());
    };
    match choice.get("name").and_then(Value::as_str) {
        Some(name) if !names.contains(&name) => wrong(format!(
            "Tool choice '{name}' not found in 'tools' parameter."
        )),
        _ => Ok(()),
    }
}

/// Checks that each object of a strict schema is closed and requires all of its properties.
fn closed(schema: Option<&Value>, place: &str) -> Checked {
    let Some(Value::Object(schema)) = schema else {
        return Ok(());
    };
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|all| all.iter().any(|it| it == name.as_str()));
        let properties = schema.get("properties").and_then(Value::as_object);
        let open = schema.get("additionalProperties") != Some(&Value::Bool(false));
        if open || !properties.is_none_or(|all| all.keys().all(is_required)) {
            return wrong(format!(
                "Invalid schema for function: {place}: 'additionalProperties' is required to be supplied and to be \
                 false, and 'required' to include every key in properties."
            ));
        }
        for property in properties.into_iter().flat_map(|all| all.values()) {
            closed(Some(property), place)?;
        }
    }
    closed(schema.get("items"), place)
}
