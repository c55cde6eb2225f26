//! Rules of Ollama.

use std::collections::VecDeque;

use serde_json::Value;

use super::{Checked, Problem, list, optional, text, tool_names, wrong};

/// A call that has no result yet.
struct Open<'a> {
    name: &'a str,
    id: Option<&'a str>,
}

pub(super) fn check(body: &Value) -> Checked {
    text(body, "model", "body")?;
    if !body.get("stream").is_some_and(Value::is_boolean) {
        return wrong("`stream` must be sent: the server streams without it");
    }
    tools(body)?;
    let mut open = VecDeque::new();
    for (number, message) in list(body, "messages", "body")?.iter().enumerate() {
        let place = format!("messages[{number}]");
        let role = text(message, "role", &place)?;
        match role {
            "tool" => result(message, &place, open.pop_front())?,
            "system" | "user" | "assistant" => unanswered(&open)?,
            _ => return wrong(format!("{place}.role: unknown role `{role}`")),
        }
        if role == "assistant" {
            open = calls(message, &place)?;
        }
        let thinks = message.get("thinking").is_some();
        match message.get("content") {
            Some(Value::String(_)) => {}
            None if !open.is_empty() || thinks => {}
            _ => return wrong(format!("{place}.content: a string is required")),
        }
        for image in optional(message, "images", &place)? {
            let is_data = image.as_str().is_some_and(|text| !text.contains(':'));
            if !is_data {
                return wrong(format!(
                    "{place}.images: Base64 without a `data:` prefix is required"
                ));
            }
        }
    }
    unanswered(&open)
}

fn unanswered(open: &VecDeque<Open<'_>>) -> Checked {
    match open.front() {
        Some(call) => wrong(format!("the call of `{}` has no result", call.name)),
        None => Ok(()),
    }
}

fn calls<'a>(message: &'a Value, place: &str) -> Result<VecDeque<Open<'a>>, Problem> {
    let mut open = VecDeque::new();
    for call in optional(message, "tool_calls", place)? {
        let function = call.get("function").unwrap_or(&Value::Null);
        let name = text(function, "name", &format!("{place}.tool_calls"))?;
        if !function.get("arguments").is_some_and(Value::is_object) {
            return wrong(format!("{place}.tool_calls: `arguments` must be an object"));
        }
        let id = call.get("id").and_then(Value::as_str);
        open.push_back(Open { name, id });
    }
    Ok(open)
}

fn result(message: &Value, place: &str, call: Option<Open<'_>>) -> Checked {
    let Some(call) = call else {
        return wrong(format!("{place}: a result without a call"));
    };
    let name = text(message, "tool_name", place)?;
    if name != call.name {
        return wrong(format!(
            "{place}: the result of `{name}` where that of `{}` is due",
            call.name
        ));
    }
    let id = message.get("tool_call_id").and_then(Value::as_str);
    match call.id {
        Some(wanted) if id != Some(wanted) => {
            wrong(format!("{place}.tool_call_id: `{wanted}` is due"))
        }
        _ => Ok(()),
    }
}

fn tools(body: &Value) -> Checked {
    let mut names = Vec::new();
    for (number, tool) in optional(body, "tools", "body")?.iter().enumerate() {
        let place = format!("tools[{number}]");
        if text(tool, "type", &place)? != "function" {
            return wrong(format!("{place}.type: only `function` is known"));
        }
        let function = tool.get("function").unwrap_or(&Value::Null);
        names.push(text(function, "name", &format!("{place}.function"))?);
    }
    tool_names(&names, 128)
}
