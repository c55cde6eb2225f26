//! The body of a request.

use serde_json::{Map, Value, json};
use turnwright_core::settings::{ReasoningEffort, ToolChoice};

use super::codec::INFO;
use crate::engine::{Encoded, RequestParts, push_list};

/// Options that are fields of the request. All others are fields of its `options`.
const TOP_LEVEL: &[&str] = &[
    "model",
    "stream",
    "think",
    "keep_alive",
    "format",
    "logprobs",
    "top_logprobs",
    "truncate",
    "shift",
    "options",
];

/// Writes the request as JSON.
pub(super) fn write(request: &RequestParts<'_>) -> Encoded {
    let mut fields = Map::new();
    fields.insert("model".to_owned(), request.model.into());
    // Streaming is on by default.
    fields.insert("stream".to_owned(), request.streams.into());
    let given = request.options.fields();
    let given = given.filter(|(name, _)| TOP_LEVEL.contains(name) && *name != "stream");
    fields.extend(given.map(|(name, value)| (name.to_owned(), value.clone())));
    if let Some(effort) = &request.settings.reasoning_effort {
        let think = || think(effort, request.model);
        fields.entry("think").or_insert_with(think);
    }
    if let Some(answer) = request.answer {
        let any = Value::from("json");
        let format = || answer.schema.cloned().unwrap_or(any);
        fields.entry("format").or_insert_with(format);
    }
    let options = options(request);
    if options.is_empty() {
        fields.remove("options")
    } else {
        fields.insert("options".to_owned(), options.into())
    };
    let (tools, warning) = tools(request);
    let mut body = Value::Object(fields).to_string();
    // The closing brace follows the lists.
    body.pop();
    if !tools.is_empty() {
        body.push_str(r#","tools":"#);
        push_list(&mut body, tools.into_iter());
    }
    let messages = request.messages.iter().map(|message| message.json.as_str());
    body.push_str(r#","messages":"#);
    push_list(&mut body, messages);
    body.push('}');
    Encoded {
        body,
        warning: warning.map(str::to_owned),
    }
}

/// Returns the parameters of the model.
fn options(request: &RequestParts<'_>) -> Map<String, Value> {
    let nested = request.options.get("options").and_then(Value::as_object);
    let mut options = nested.cloned().unwrap_or_default();
    let flat = request.options.fields();
    let flat = flat.filter(|(name, _)| !TOP_LEVEL.contains(name));
    options.extend(flat.map(|(name, value)| (name.to_owned(), value.clone())));
    let settings = request.settings(&INFO);
    options.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    options
}

/// Returns the tools, and a warning if the choice of tools cannot be expressed.
fn tools<'a>(request: &'a RequestParts<'_>) -> (Vec<&'a str>, Option<&'static str>) {
    let all = || request.tools.iter().map(|tool| &**tool).collect();
    match &request.settings.tool_choice {
        Some(ToolChoice::None) => (Vec::new(), None),
        Some(ToolChoice::Required | ToolChoice::Tool(_)) if !request.tools.is_empty() => (
            all(),
            Some(
                "Ollama cannot force a tool call: `tool_choice` is not sent, and the model decides",
            ),
        ),
        _ => (all(), None),
    }
}

/// Returns the value of `think`. Only some models have levels; others reject them.
fn think(effort: &ReasoningEffort, model: &str) -> Value {
    let has_levels = model.contains("gpt-oss");
    match effort {
        ReasoningEffort::None => json!(false),
        _ if !has_levels => json!(true),
        ReasoningEffort::Minimal | ReasoningEffort::Low => json!("low"),
        ReasoningEffort::Medium => json!("medium"),
        ReasoningEffort::High => json!("high"),
        effort => json!(effort.as_str()),
    }
}
