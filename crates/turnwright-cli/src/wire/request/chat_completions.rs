//! Requests of Chat Completions.

use serde_json::Value;

use super::{
    Conversation as _, OfferedTool, RecordedCall, RecordedRequest, RecordedResult, arguments,
    id_of, list, text_of, words,
};

pub(super) fn read(body: &Value, request: &mut RecordedRequest) {
    read_messages(body, request);
    request.tools = list(body, "tools").iter().map(tool).collect();
}

/// Reads the messages of Chat Completions or Ollama.
pub(super) fn read_messages(body: &Value, request: &mut RecordedRequest) {
    for message in list(body, "messages") {
        let text = words(message.get("content"));
        match text_of(message, "role") {
            "system" | "developer" => request.add_system(&text),
            "user" => request.entries.user(text),
            "assistant" => {
                request.entries.response();
                request.entries.says(&text);
                for call in list(message, "tool_calls") {
                    let function = call.get("function").unwrap_or(&Value::Null);
                    request.entries.calls(RecordedCall {
                        id: id_of(call, "id"),
                        name: text_of(function, "name").to_owned(),
                        arguments: arguments(function.get("arguments")),
                    });
                }
            }
            "tool" => request.entries.result(RecordedResult {
                id: id_of(message, "tool_call_id"),
                name: id_of(message, "tool_name"),
                text,
            }),
            _ => {}
        }
    }
}

pub(super) fn tool(offered: &Value) -> OfferedTool {
    match offered.get("function") {
        Some(function) => OfferedTool::function(function, &["parameters"]),
        None => OfferedTool::Provider(text_of(offered, "type").to_owned()),
    }
}
