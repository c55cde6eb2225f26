//! Requests of Gemini.

use serde_json::Value;

use super::{
    Conversation as _, Entry, OfferedTool, RecordedCall, RecordedRequest, RecordedResult,
    arguments, id_of, joined, list, text_of,
};

/// The model and the method are in the path: `…/models/NAME:streamGenerateContent`.
pub(super) fn read(body: &Value, path: &str, request: &mut RecordedRequest) {
    let route = path.split('?').next().unwrap_or_default();
    let last = route.rsplit('/').next().unwrap_or_default();
    let (model, method) = last.split_once(':').unwrap_or((last, ""));
    request.model = model.to_owned();
    request.streams = method == "streamGenerateContent";
    let instruction = ["systemInstruction", "system_instruction"];
    for instruction in instruction.iter().filter_map(|name| body.get(name)) {
        request.add_system(&joined(list(instruction, "parts").iter()));
    }
    for content in list(body, "contents") {
        match text_of(content, "role") {
            "model" => read_response(content, &mut request.entries),
            _ => read_user(content, &mut request.entries),
        }
    }
    for tool in list(body, "tools") {
        let functions = list(tool, "functionDeclarations").iter();
        let schema = ["parametersJsonSchema", "parameters"];
        let functions = functions.map(|function| OfferedTool::function(function, &schema));
        request.tools.extend(functions);
        let fields = tool.as_object().into_iter().flatten();
        let own =
            fields.filter(|(name, value)| *name != "functionDeclarations" && !value.is_null());
        let own = own.map(|(name, _)| OfferedTool::Provider(name.clone()));
        request.tools.extend(own);
    }
}

fn read_response(content: &Value, entries: &mut Vec<Entry>) {
    entries.response();
    for part in list(content, "parts") {
        if let Some(call) = part.get("functionCall") {
            entries.calls(RecordedCall {
                id: id_of(call, "id"),
                name: text_of(call, "name").to_owned(),
                arguments: arguments(call.get("args")),
            });
        } else if part.get("thought") != Some(&true.into()) {
            entries.says(text_of(part, "text"));
        }
    }
}

fn read_user(content: &Value, entries: &mut Vec<Entry>) {
    let is_result = |part: &&Value| part.get("functionResponse").is_some();
    let (results, others): (Vec<&Value>, Vec<&Value>) =
        list(content, "parts").iter().partition(is_result);
    for result in results
        .iter()
        .filter_map(|part| part.get("functionResponse"))
    {
        entries.result(RecordedResult {
            id: id_of(result, "id"),
            name: id_of(result, "name"),
            text: answer(result.get("response")),
        });
    }
    if !others.is_empty() {
        let parts = others.into_iter().map(|part| match part.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => {
                let mut kinds = part
                    .as_object()
                    .into_iter()
                    .flat_map(|fields| fields.keys());
                let kind = kinds.find(|name| *name != "thought");
                format!("[{}]", kind.map_or("", String::as_str))
            }
        });
        entries.user(parts.collect::<Vec<_>>().join("\n\n"));
    }
}

/// The text of a result: `result` or `error` if it is a text, else the JSON of what there is.
fn answer(response: Option<&Value>) -> String {
    let Some(response) = response else {
        return String::new();
    };
    let inner = ["result", "output", "error"];
    let inner = inner.iter().find_map(|name| response.get(name));
    match inner.unwrap_or(response) {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
