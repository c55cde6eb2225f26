//! The body of a request.

use serde_json::{Map, Value, json};
use turnwright_core::settings::{ReasoningEffort, ToolChoice};

use super::codec::INFO;
use super::contents;
use crate::engine::{RequestParts, Role, WireMessage, push_field, push_list, push_list_field};

/// Options that are fields of the request. All others are fields of its `generationConfig`.
const TOP_LEVEL: &[&str] = &[
    "safetySettings",
    "cachedContent",
    "labels",
    "serviceTier",
    "generationConfig",
];

/// Options that set the format of the answer, instead of that of a typed answer.
const FORMAT: &[&str] = &["responseMimeType", "responseJsonSchema", "responseSchema"];

/// Writes the request as JSON.
pub(super) fn write(request: &RequestParts<'_>) -> String {
    let mut fields = Map::new();
    let given = request.options.fields();
    let given = given.filter(|(name, _)| TOP_LEVEL.contains(name));
    fields.extend(given.map(|(name, value)| (name.to_owned(), value.clone())));
    let config = generation_config(request);
    if config.is_empty() {
        fields.remove("generationConfig")
    } else {
        fields.insert("generationConfig".to_owned(), config.into())
    };
    if let Some(config) = tool_config(request) {
        fields.insert("toolConfig".to_owned(), config);
    }
    let mut body = String::with_capacity(request.length());
    body.push('{');
    for (name, value) in &fields {
        push_field(&mut body, name, &value.to_string());
    }
    let messages = request.messages.iter().copied();
    let (system, contents): (Vec<&WireMessage>, Vec<&WireMessage>) =
        messages.partition(|message| message.role == Role::System);
    if let Some(system) = system.first() {
        push_field(&mut body, "systemInstruction", &system.json);
    }
    let (functions, others) = request.tools.split_at(request.functions);
    let mut tools = others.to_vec();
    if !functions.is_empty() {
        let mut list = String::from(r#"{"functionDeclarations":"#);
        push_list(&mut list, functions.iter());
        list.push('}');
        tools.insert(0, list.into());
    }
    push_list_field(&mut body, "tools", &tools);
    body.push_str("\"contents\":[");
    contents::push(&mut body, &contents);
    body.push_str("]}");
    body
}

fn generation_config(request: &RequestParts<'_>) -> Map<String, Value> {
    let nested = request.options.get("generationConfig");
    let nested = nested.and_then(Value::as_object);
    let mut config = nested.cloned().unwrap_or_default();
    let own = |name: &&str| !TOP_LEVEL.contains(name) && !["model", "stream"].contains(name);
    let flat = request.options.fields().filter(|(name, _)| own(name));
    config.extend(flat.map(|(name, value)| (name.to_owned(), value.clone())));
    let settings = request.settings(&INFO);
    config.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    if let Some(effort) = &request.settings.reasoning_effort {
        let thinking = || thinking_config(effort, request.model);
        config.entry("thinkingConfig").or_insert_with(thinking);
    }
    let has_own_format = FORMAT.iter().any(|name| config.contains_key(*name));
    if let Some(answer) = request.answer.filter(|_| !has_own_format) {
        config.insert("responseMimeType".to_owned(), "application/json".into());
        if let Some(schema) = answer.schema {
            config.insert("responseJsonSchema".to_owned(), schema.clone());
        }
    }
    config
}

/// Returns the thinking configuration: a level for Gemini 3, a budget of tokens for older models.
fn thinking_config(effort: &ReasoningEffort, model: &str) -> Value {
    let has_budget = model.contains("gemini-2") || model.contains("gemini-1");
    let budget = match effort {
        ReasoningEffort::None => 0,
        ReasoningEffort::Minimal => 512,
        ReasoningEffort::Low => 1_024,
        ReasoningEffort::Medium => 8_192,
        // As much as the model decides.
        _ => -1,
    };
    match (has_budget, effort) {
        (true, ReasoningEffort::None) => json!({ "thinkingBudget": 0 }),
        (true, _) => json!({ "thinkingBudget": budget, "includeThoughts": true }),
        (false, ReasoningEffort::None) => json!({ "thinkingLevel": "minimal" }),
        (false, effort) => json!({ "thinkingLevel": effort.as_str(), "includeThoughts": true }),
    }
}

fn tool_config(request: &RequestParts<'_>) -> Option<Value> {
    if request.functions == 0 {
        return None;
    }
    let config = match request.settings.tool_choice.as_ref()? {
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
        _ => json!({ "mode": "AUTO" }),
    };
    Some(json!({ "functionCallingConfig": config }))
}
