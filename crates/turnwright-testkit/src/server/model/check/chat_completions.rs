//! Rules of Chat Completions.

use serde::de::IgnoredAny;

use super::place::Place;
use super::{Checked, OpenCalls, tool_names};

pub(super) fn check(body: &Place<'_>) -> Checked {
    tool_names(body.at("tools").items().map(|tool| tool.at("function")))?;
    let mut open = OpenCalls::default();
    for message in body.at("messages").items() {
        if message.text("role") == "tool" {
            open.result(&message, message.text("tool_call_id"))?;
            continue;
        }
        open.answered()?;
        for call in message.at("tool_calls").items() {
            open.call(&call, call.text("id"))?;
            let function = call.at("function");
            let arguments = serde_json::from_str::<IgnoredAny>(function.text("arguments"));
            let place = function.at("arguments");
            place.must(arguments.is_ok(), "not JSON")?;
        }
    }
    open.answered()
}
