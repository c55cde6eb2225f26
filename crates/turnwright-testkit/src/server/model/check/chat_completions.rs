//! Rules of Chat Completions.

use serde_json::Value;

use super::place::Place;
use super::{Checked, must, tool_names};

const PARTS: [&str; 6] = [
    "text",
    "image_url",
    "input_audio",
    "file",
    "video_url",
    "refusal",
];

pub(super) fn check(body: &Place<'_>) -> Checked {
    body.text("model")?;
    tools(body)?;
    let messages = body.list("messages")?;
    must(!messages.is_empty(), "[] is too short - 'messages'")?;
    // The calls that have no result yet.
    let mut open: Vec<&str> = Vec::new();
    for message in &messages {
        let role = message.text("role")?;
        if role == "tool" {
            result(message, &mut open)?;
        } else {
            answered(&open)?;
        }
        match role {
            "assistant" => open = calls(message)?,
            "system" | "developer" | "user" | "tool" => {}
            _ => return Err(message.problem(format_args!("role: invalid value `{role}`"))),
        }
        content(message, role)?;
    }
    answered(&open)
}

fn answered(open: &[&str]) -> Checked {
    must(
        open.is_empty(),
        format_args!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        ),
    )
}

fn result(message: &Place<'_>, open: &mut Vec<&str>) -> Checked {
    let id = message.text("tool_call_id")?;
    let problem = || {
        message.problem(format_args!(
            "messages with role 'tool' must be a response to a preceding message with 'tool_calls', and `{id}` is none \
             or was answered already"
        ))
    };
    let call = open.iter().position(|call| *call == id);
    open.remove(call.ok_or_else(problem)?);
    Ok(())
}

fn calls<'a>(message: &Place<'a>) -> Checked<Vec<&'a str>> {
    let mut ids = Vec::new();
    for call in message.optional("tool_calls")? {
        let id = call.text("id")?;
        call.must(
            !ids.contains(&id),
            format_args!("the id `{id}` is used twice"),
        )?;
        call.must(call.kind() == "function", "only `function` is known")?;
        let function = call.at("function");
        function.text("name")?;
        let arguments: Result<Value, _> = serde_json::from_str(function.text("arguments")?);
        let place = function.at("arguments");
        place.must(arguments.is_ok(), "not JSON")?;
        ids.push(id);
    }
    Ok(ids)
}

fn content(message: &Place<'_>, role: &str) -> Checked {
    let content = message.at("content");
    match content.value {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => content.items().try_for_each(|part| {
            let kind = part.text("type")?;
            let of_role = role == "user" || matches!(kind, "text" | "refusal");
            let message = format_args!("invalid part `{kind}` for {role}");
            part.must(of_role && PARTS.contains(&kind), message)
        }),
        Value::Null if role == "assistant" => message.must(
            message.has("tool_calls") || message.has("refusal"),
            "expected `content` or `tool_calls`",
        ),
        _ => Err(content.problem("expected a string or a list of parts")),
    }
}

fn tools(body: &Place<'_>) -> Checked {
    let mut names = Vec::new();
    for tool in body.optional("tools")? {
        if tool.text("type")? == "function" {
            names.push(tool.at("function").text("name")?);
        }
    }
    tool_names(&names, 64)
}
