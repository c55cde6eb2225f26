//! Requests of Anthropic Messages.

use serde_json::Value;

use super::{
    Conversation as _, Entry, OfferedTool, RecordedCall, RecordedRequest, RecordedResult,
    arguments, id_of, joined, list, text_of, words,
};

pub(super) fn read(body: &Value, request: &mut RecordedRequest) {
    request.system = words(body.get("system"));
    for message in list(body, "messages") {
        match text_of(message, "role") {
            "assistant" => read_response(message, &mut request.entries),
            "user" => read_user(message, &mut request.entries),
            "system" => request.add_system(&words(message.get("content"))),
            _ => {}
        }
    }
    let tools = list(body, "tools").iter();
    request.tools = tools
        .map(
            |tool| match (text_of(tool, "type"), tool.get("input_schema")) {
                ("" | "custom", Some(_)) => OfferedTool::function(tool, &["input_schema"]),
                (kind, _) => OfferedTool::Provider(kind.to_owned()),
            },
        )
        .collect();
}

fn read_response(message: &Value, entries: &mut Vec<Entry>) {
    entries.response();
    if let Some(Value::String(text)) = message.get("content") {
        entries.says(text);
    }
    for block in list(message, "content") {
        match text_of(block, "type") {
            "text" => entries.says(text_of(block, "text")),
            "tool_use" => entries.calls(RecordedCall {
                id: id_of(block, "id"),
                name: text_of(block, "name").to_owned(),
                arguments: arguments(block.get("input")),
            }),
            // Thinking, and blocks of tools that ran at the provider.
            _ => {}
        }
    }
}

/// Results precede the text of a message.
fn read_user(message: &Value, entries: &mut Vec<Entry>) {
    if let Some(Value::String(text)) = message.get("content") {
        entries.user(text.clone());
    }
    let is_result = |block: &&Value| text_of(block, "type") == "tool_result";
    let (results, others): (Vec<&Value>, Vec<&Value>) =
        list(message, "content").iter().partition(is_result);
    for block in results {
        entries.result(RecordedResult {
            id: id_of(block, "tool_use_id"),
            name: None,
            text: words(block.get("content")),
        });
    }
    if !others.is_empty() {
        entries.user(joined(others.into_iter()));
    }
}
