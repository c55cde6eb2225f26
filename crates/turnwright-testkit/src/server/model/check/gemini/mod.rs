//! Rules of Gemini.

mod contents;

use serde_json::Value;

use super::{Checked, Known, known_fields, optional, text, tool_names, wrong};
use crate::server::ReceivedRequest;

const FIELDS: [&str; 10] = [
    "contents",
    "tools",
    "toolConfig",
    "safetySettings",
    "systemInstruction",
    "generationConfig",
    "cachedContent",
    "model",
    "labels",
    "serviceTier",
];
const GENERATION: [&str; 20] = [
    "candidateCount",
    "stopSequences",
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "_responseJsonSchema",
    "responseLogprobs",
    "logprobs",
    "thinkingConfig",
    "responseModalities",
    "speechConfig",
    "mediaResolution",
    "imageConfig",
];

pub(super) fn check(request: &ReceivedRequest, body: &Value, known: &Known<'_>) -> Checked {
    let query = request.path.split_once('?').map_or("", |(_, query)| query);
    if query.split('&').any(|pair| pair.starts_with("key=")) {
        return wrong("the API key must be in the header `x-goog-api-key`: logs show the query");
    }
    if request.header("x-goog-api-key").is_none_or(str::is_empty) {
        let message =
            "Method doesn't allow unregistered callers: the header `x-goog-api-key` is required";
        return Err((403, message.to_owned()));
    }
    known_fields(body, &FIELDS, "body")?;
    // A `null` counts as absent.
    let field = |name| body.get(name).filter(|value| !value.is_null());
    if let Some(config) = field("generationConfig") {
        known_fields(config, &GENERATION, "generationConfig")?;
    }
    if let Some(system) = field("systemInstruction") {
        for part in super::list(system, "parts", "systemInstruction")? {
            text(part, "text", "systemInstruction.parts")?;
        }
    }
    let names = tools(body)?;
    config(body, &names)?;
    contents::check(body, known)
}

fn tools(body: &Value) -> Result<Vec<&str>, super::Problem> {
    let mut names = Vec::new();
    for tool in optional(body, "tools", "body")? {
        let declarations = optional(tool, "functionDeclarations", "tools")?;
        for (number, declaration) in declarations.iter().enumerate() {
            let place = format!("tools.functionDeclarations[{number}]");
            names.push(text(declaration, "name", &place)?);
            if declaration.get("parameters").is_some() {
                return wrong(format!(
                    "{place}: send the schema unchanged as `parametersJsonSchema`, not as `parameters`"
                ));
            }
            let schema = declaration.get("parametersJsonSchema");
            let is_object =
                |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
            if schema.is_some_and(|schema| !is_object(schema)) {
                return wrong(format!(
                    "{place}.parametersJsonSchema: the type must be `object`"
                ));
            }
        }
    }
    tool_names(&names, 128)?;
    Ok(names)
}

fn config(body: &Value, names: &[&str]) -> Checked {
    let Some(config) = body.pointer("/toolConfig/functionCallingConfig") else {
        return Ok(());
    };
    let place = "toolConfig.functionCallingConfig";
    known_fields(config, &["mode", "allowedFunctionNames"], place)?;
    let mode = config.get("mode").and_then(Value::as_str).unwrap_or("AUTO");
    if !matches!(mode, "AUTO" | "ANY" | "NONE" | "VALIDATED") {
        return wrong(format!("{place}.mode: invalid value `{mode}`"));
    }
    for name in optional(config, "allowedFunctionNames", place)? {
        let is_known = name.as_str().is_some_and(|name| names.contains(&name));
        if !is_known || !matches!(mode, "ANY" | "VALIDATED") {
            return wrong(format!(
                "{place}.allowedFunctionNames: {name} is not allowed here"
            ));
        }
    }
    Ok(())
}
