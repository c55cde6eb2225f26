//! Rules of Chat Completions.

use serde_json::Value;

use super::{Checked, list, optional, text, tool_names, wrong};

const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];
const PARTS: [&str; 6] = [
    "text",
    "image_url",
    "input_audio",
    "file",
    "video_url",
    "refusal",
];

pub(super) fn check(body: &Value) -> Checked {
    text(body, "model", "body")?;
    tools(body)?;
    let messages = list(body, "messages", "body")?;
    if messages.is_empty() {
        return wrong("[] is too short - 'messages'");
    }
    // The calls that have no result yet.
    let mut open: Vec<&str> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let place = format!("messages[{number}]");
        let role = text(message, "role", &place)?;
        if !ROLES.contains(&role) {
            return wrong(format!("{place}.role: invalid value `{role}`"));
        }
        match role {
            "tool" => result(message, &place, &mut open)?,
            _ if !open.is_empty() => return unanswered(&open),
            "assistant" => open = calls(message, &place)?,
            _ => {}
        }
        content(message, role, &place)?;
    }
    match open.is_empty() {
        true => Ok(()),
        false => unanswered(&open),
    }
}

fn unanswered(open: &[&str]) -> Checked {
    let ids = open.join(", ");
    wrong(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {ids}"
    ))
}

fn result(message: &Value, place: &str, open: &mut Vec<&str>) -> Checked {
    let id = text(message, "tool_call_id", place)?;
    let Some(at) = open.iter().position(|call| *call == id) else {
        return wrong(format!(
            "{place}: messages with role 'tool' must be a response to a preceding message with 'tool_calls', and `{id}` \
             is none or was answered already"
        ));
    };
    open.remove(at);
    Ok(())
}

fn calls<'a>(message: &'a Value, place: &str) -> Result<Vec<&'a str>, super::Problem> {
    let mut ids = Vec::new();
    for (number, call) in optional(message, "tool_calls", place)?.iter().enumerate() {
        let place = format!("{place}.tool_calls[{number}]");
        let id = text(call, "id", &place)?;
        if ids.contains(&id) {
            return wrong(format!("{place}.id: `{id}` is used twice"));
        }
        if text(call, "type", &place)? != "function" {
            return wrong(format!("{place}.type: only `function` is known"));
        }
        let function = call.get("function").unwrap_or(&Value::Null);
        text(function, "name", &place)?;
        let arguments = text(function, "arguments", &place)?;
        if serde_json::from_str::<Value>(arguments).is_err() {
            return wrong(format!("{place}.function.arguments: not JSON"));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn content(message: &Value, role: &str, place: &str) -> Checked {
    match message.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            for part in parts {
                let kind = text(part, "type", place)?;
                let fits =
                    PARTS.contains(&kind) && (role == "user" || matches!(kind, "text" | "refusal"));
                if !fits {
                    return wrong(format!("{place}.content: invalid part `{kind}` for {role}"));
                }
            }
            Ok(())
        }
        None | Some(Value::Null) if role == "assistant" => {
            let has = |name| message.get(name).is_some_and(|value| !value.is_null());
            match has("tool_calls") || has("refusal") {
                true => Ok(()),
                false => wrong(format!("{place}: expected `content` or `tool_calls`")),
            }
        }
        _ => wrong(format!(
            "{place}.content: expected a string or a list of parts"
        )),
    }
}

fn tools(body: &Value) -> Checked {
    let mut names = Vec::new();
    for (number, tool) in optional(body, "tools", "body")?.iter().enumerate() {
        let place = format!("tools[{number}]");
        if text(tool, "type", &place)? == "function" {
            let function = tool.get("function").unwrap_or(&Value::Null);
            names.push(text(function, "name", &format!("{place}.function"))?);
        }
    }
    tool_names(&names, 64)
}
