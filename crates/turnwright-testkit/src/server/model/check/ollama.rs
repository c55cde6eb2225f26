//! Rules of Ollama.

use std::collections::VecDeque;

use super::place::Place;
use super::{Checked, must, tool_names};

pub(super) fn check(body: &Place<'_>) -> Checked {
    body.text("model")?;
    must(
        body.at("stream").value.is_boolean(),
        "`stream` must be sent: the server streams without it",
    )?;
    tools(body)?;
    // The calls that have no result yet.
    let mut open = VecDeque::new();
    for message in body.list("messages")? {
        let role = message.text("role")?;
        match role {
            "tool" => result(&message, open.pop_front())?,
            "system" | "user" | "assistant" => answered(&open)?,
            _ => return Err(message.problem(format_args!("unknown role `{role}`"))),
        }
        if role == "assistant" {
            open = calls(&message)?;
        }
        let content = message.at("content");
        let may_be_absent = !open.is_empty() || message.has("thinking");
        content.must(
            content.value.is_string() || content.value.is_null() && may_be_absent,
            "a string is required",
        )?;
        for image in message.optional("images")? {
            let is_data = image.value.as_str().is_some_and(|text| !text.contains(':'));
            image.must(is_data, "Base64 without a `data:` prefix is required")?;
        }
    }
    answered(&open)
}

fn answered(open: &VecDeque<Place<'_>>) -> Checked {
    let name = open
        .front()
        .and_then(|call| call.at("function").str("name"));
    must(
        open.is_empty(),
        format_args!("the call of `{}` has no result", name.unwrap_or_default()),
    )
}

fn calls<'a>(message: &Place<'a>) -> Checked<VecDeque<Place<'a>>> {
    let calls = message.optional("tool_calls")?;
    for call in &calls {
        let function = call.at("function");
        function.text("name")?;
        function.object("arguments")?;
    }
    Ok(calls.into())
}

fn result(message: &Place<'_>, call: Option<Place<'_>>) -> Checked {
    let call = call.ok_or_else(|| message.problem("a result without a call"))?;
    let (name, due) = (
        message.text("tool_name")?,
        call.at("function").text("name")?,
    );
    message.must(
        name == due,
        format_args!("the result of `{name}` where that of `{due}` is due"),
    )?;
    let id = call.str("id");
    message.must(
        id.is_none() || message.str("tool_call_id") == id,
        format_args!("tool_call_id: `{}` is due", id.unwrap_or_default()),
    )
}

fn tools(body: &Place<'_>) -> Checked {
    let mut names = Vec::new();
    for tool in body.optional("tools")? {
        tool.must(tool.kind() == "function", "only `function` is known")?;
        names.push(tool.at("function").text("name")?);
    }
    tool_names(&names, 128)
}
