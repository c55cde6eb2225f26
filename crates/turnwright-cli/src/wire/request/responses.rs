//! Requests of OpenAI Responses.

use serde_json::Value;

use super::{
    Conversation as _, OfferedTool, RecordedCall, RecordedRequest, RecordedResult, arguments,
    id_of, list, text_of, words,
};

pub(super) fn read(body: &Value, request: &mut RecordedRequest) {
    if let Some(instructions) = id_of(body, "instructions") {
        request.add_system(&instructions);
    }
    request.previous_response = id_of(body, "previous_response_id");
    if let Some(Value::String(text)) = body.get("input") {
        request.entries.user(text.clone());
    }
    for item in list(body, "input") {
        read_item(item, request);
    }
    let tools = list(body, "tools").iter();
    request.tools = tools
        .map(|tool| match text_of(tool, "type") {
            "function" => OfferedTool::function(tool, &["parameters"]),
            kind => OfferedTool::Provider(kind.to_owned()),
        })
        .collect();
}

/// A response is the items between two messages or results.
fn read_item(item: &Value, request: &mut RecordedRequest) {
    let entries = &mut request.entries;
    match (text_of(item, "type"), text_of(item, "role")) {
        ("function_call", _) => entries.calls(RecordedCall {
            id: id_of(item, "call_id"),
            name: text_of(item, "name").to_owned(),
            arguments: arguments(item.get("arguments")),
        }),
        ("function_call_output", _) => entries.result(RecordedResult {
            id: id_of(item, "call_id"),
            name: None,
            text: words(item.get("output")),
        }),
        (_, "system" | "developer") => request.add_system(&words(item.get("content"))),
        (_, "user") => entries.user(words(item.get("content"))),
        (_, "assistant") => entries.says(&words(item.get("content"))),
        // Reasoning, and items of tools that ran at the provider.
        _ => entries.says(""),
    }
}
