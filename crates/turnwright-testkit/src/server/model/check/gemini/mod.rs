//! Rules of Gemini: headers and fields.

mod contents;

use super::place::Place;
use super::{Checked, Known, must, tool_names};
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

pub(super) fn check(request: &ReceivedRequest, body: &Place<'_>, known: &Known<'_>) -> Checked {
    let query = request.path.split_once('?').map_or("", |(_, query)| query);
    must(
        !query.split('&').any(|pair| pair.starts_with("key=")),
        "the API key must be in the header `x-goog-api-key`: logs show the query",
    )?;
    if request.header("x-goog-api-key").is_none_or(str::is_empty) {
        let message =
            "Method doesn't allow unregistered callers: the header `x-goog-api-key` is required";
        return Err((403, message.to_owned()));
    }
    body.known_fields(&FIELDS)?;
    body.at("generationConfig").known_fields(&GENERATION)?;
    if let Some(system) = body.get("systemInstruction") {
        for part in system.list("parts")? {
            part.text("text")?;
        }
    }
    let names = tools(body)?;
    config(body, &names)?;
    contents::check(body, known)
}

fn tools<'a>(body: &Place<'a>) -> Checked<Vec<&'a str>> {
    let mut names = Vec::new();
    for tool in body.optional("tools")? {
        for declaration in tool.optional("functionDeclarations")? {
            names.push(declaration.text("name")?);
            declaration.must(
                !declaration.has("parameters"),
                "send the schema unchanged as `parametersJsonSchema`, not as `parameters`",
            )?;
            if let Some(schema) = declaration.get("parametersJsonSchema") {
                schema.must(schema.kind() == "object", "the type must be `object`")?;
            }
        }
    }
    tool_names(&names, 128)?;
    Ok(names)
}

fn config(body: &Place<'_>, names: &[&str]) -> Checked {
    let config = body.at("toolConfig").at("functionCallingConfig");
    config.known_fields(&["mode", "allowedFunctionNames"])?;
    let mode = config.str("mode").unwrap_or("AUTO");
    config.must(
        matches!(mode, "AUTO" | "ANY" | "NONE" | "VALIDATED"),
        format_args!("mode: invalid value `{mode}`"),
    )?;
    for name in config.optional("allowedFunctionNames")? {
        let is_known = name
            .value
            .as_str()
            .is_some_and(|name| names.contains(&name));
        name.must(
            is_known && matches!(mode, "ANY" | "VALIDATED"),
            format_args!("{} is not allowed here", name.value),
        )?;
    }
    Ok(())
}
