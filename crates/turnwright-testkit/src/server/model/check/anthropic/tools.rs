//! Tools and the choice of one.

use serde_json::Value;

use crate::server::model::check::{Checked, optional, text, tool_names, wrong};

pub(super) fn check(body: &Value) -> Checked {
    let mut names = Vec::new();
    for (number, tool) in optional(body, "tools", "body")?.iter().enumerate() {
        let place = format!("tools.{number}");
        let kind = tool.get("type").and_then(Value::as_str);
        names.push(text(tool, "name", &place)?);
        if matches!(kind, None | Some("custom")) {
            schema(tool, &format!("{place}.custom.input_schema"))?;
        }
    }
    tool_names(&names, 128)?;
    choice(body, &names)
}

fn schema(tool: &Value, place: &str) -> Checked {
    let Some(schema @ Value::Object(_)) = tool.get("input_schema") else {
        return wrong(format!("{place}: Field required"));
    };
    match schema.get("type") {
        None => return wrong(format!("{place}.type: Field required")),
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => return wrong(format!("{place}.type: Input should be 'object'")),
    }
    for union in ["oneOf", "allOf", "anyOf"] {
        if schema.get(union).is_some() {
            return wrong(format!(
                "{place}: input_schema does not support oneOf, allOf, or anyOf at the top level"
            ));
        }
    }
    Ok(())
}

fn choice(body: &Value, names: &[&str]) -> Checked {
    let Some(choice) = body.get("tool_choice") else {
        return Ok(());
    };
    if names.is_empty() {
        return wrong("tool_choice may only be specified while providing tools");
    }
    match text(choice, "type", "tool_choice")? {
        "auto" | "any" | "none" => Ok(()),
        "tool" => {
            let name = text(choice, "name", "tool_choice")?;
            match names.contains(&name) {
                true => Ok(()),
                false => wrong(format!("Tool '{name}' not found in provided tools")),
            }
        }
        other => wrong(format!("tool_choice.type: unknown value `{other}`")),
    }
}
