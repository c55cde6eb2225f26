//! Rules of Ollama.

use std::collections::VecDeque;

use super::place::Place;
use super::{Checked, must, tool_names};

pub(super) fn check(body: &Place<'_>) -> Checked {
    tool_names(body.at("tools").items().map(|tool| tool.at("function")))?;
    // The calls that have no result yet.
    let mut open = VecDeque::new();
    for message in body.at("messages").items() {
        if message.text("role") == "tool" {
            result(&message, open.pop_front())?;
        } else {
            answered(&open)?;
        }
        open.extend(message.at("tool_calls").items());
    }
    answered(&open)
}

fn answered(open: &VecDeque<Place<'_>>) -> Checked {
    let name = open.front().map(|call| call.at("function").text("name"));
    must(
        open.is_empty(),
        format_args!("the call of `{}` has no result", name.unwrap_or_default()),
    )
}

fn result(message: &Place<'_>, call: Option<Place<'_>>) -> Checked {
    let call = call.ok_or_else(|| message.problem("a result without a call"))?;
    let (name, due) = (message.text("tool_name"), call.at("function").text("name"));
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
