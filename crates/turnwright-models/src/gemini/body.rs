//! The body of a request.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use turnwright_core::settings::{ReasoningEffort, ToolChoice};

use super::contents;
use crate::engine::{RequestParts, Role, WireMessage, push_list};

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
    let mut body = Value::Object(fields).to_string();
    // The closing brace follows the lists.
    body.pop();
    let separator = |body: &mut String| {
        if body.len() > 1 {
            body.push(',');
        }
    };
    let messages = request.messages.iter().copied();
    let (system, contents): (Vec<&WireMessage>, Vec<&WireMessage>) =
        messages.partition(|message| message.role == Role::System);
    if let Some(system) = system.first() {
        separator(&mut body);
        body.push_str("\"systemInstruction\":");
        body.push_str(&system.json);
    }
    let (functions, others) = request.tools.split_at(request.functions);
    if !request.tools.is_empty() {
        separator(&mut body);
        let mut lists = Vec::with_capacity(1 + others.len());
        if !functions.is_empty() {
            let mut list = String::from(r#"{"functionDeclarations":"#);
            push_list(&mut list, functions.iter().map(|tool| &**tool));
            list.push('}');
            lists.push(Cow::Owned(list));
        }
        lists.extend(others.iter().map(|tool| Cow::Borrowed(&**tool)));
        body.push_str(r#""tools":"#);
        push_list(&mut body, lists.iter().map(|list| &**list));
    }
    separator(&mut body);
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
    let settings = request.settings;
    let stop = settings.stop_sequences.clone();
    let set = [
        ("temperature", settings.temperature.map(Value::from)),
        ("topP", settings.top_p.map(Value::from)),
        (
            "maxOutputTokens",
            settings.max_output_tokens.map(Value::from),
        ),
        ("stopSequences", stop.map(Value::from)),
        ("seed", settings.seed.map(Value::from)),
        (
            "presencePenalty",
            settings.presence_penalty.map(Value::from),
        ),
        (
            "frequencyPenalty",
            settings.frequency_penalty.map(Value::from),
        ),
    ];
    let set = set.into_iter();
    config.extend(set.filter_map(|(name, value)| Some((name.to_owned(), value?))));
    if let Some(effort) = &settings.reasoning_effort {
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
