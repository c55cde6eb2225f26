//! The permitted differences between a recorded request and our reproduction.

use serde_json::{Value, json};

use super::{plain, replace_nullable};
use crate::requests::comparison::{
    Difference, Sides, always, is_media_marker, list, object, unsealed,
};
use crate::requests::text;

/// In the order in which they are applied.
pub(super) const DIFFERENCES: &[Difference] = &[
    // Habits of the recorded client.
    always(
        "null is omitted",
        "a field that is null means the same as a missing one",
        |sides| {
            let body = &mut sides.recorded;
            object(body).retain(|_, value| !value.is_null());
            for tool in list(body, "tools") {
                object(tool).retain(|_, value| !value.is_null());
            }
        },
    ),
    always("no thought", "`thought: false` is the default", |sides| {
        let instruction = sides.recorded.get_mut("systemInstruction");
        let of_system = instruction.into_iter().flat_map(|item| list(item, "parts"));
        of_system.for_each(remove_thought);
        parts(&mut sides.recorded).for_each(remove_thought);
    }),
    always(
        "no empty configuration",
        "`generationConfig: {}` means the same as no configuration",
        |sides| {
            if sides.recorded["generationConfig"] == json!({}) {
                object(&mut sides.recorded).remove("generationConfig");
            }
        },
    ),
    always(
        "a system instruction has no role",
        "the API ignores it",
        |sides| {
            if let Some(instruction) = sides.recorded.get_mut("systemInstruction")
                && instruction["role"] == "model"
            {
                object(instruction).remove("role");
            }
        },
    ),
    always(
        "allowedFunctionNames",
        "the documented name of `allowed_function_names`",
        |sides| {
            if let Some(config) = sides
                .recorded
                .pointer_mut("/toolConfig/functionCallingConfig")
                && let Some(names) = object(config).remove("allowed_function_names")
            {
                config["allowedFunctionNames"] = names;
            }
        },
    ),
    always(
        "parametersJsonSchema",
        "schemas are sent as JSON Schema; `parameters` takes a subset of OpenAPI",
        |sides| {
            for tool in list(&mut sides.recorded, "tools") {
                for function in list(tool, "functionDeclarations") {
                    if let Some(schema) = object(function).remove("parameters") {
                        function["parametersJsonSchema"] = schema;
                    }
                }
            }
        },
    ),
    always(
        "nullable",
        "JSON Schema has the type `null`; `nullable` is OpenAPI's",
        |sides| {
            for tool in list(&mut sides.recorded, "tools") {
                replace_nullable(tool);
            }
        },
    ),
    always(
        "several texts are joined",
        "a message has one text: the texts of a list are joined with an empty line",
        |sides| {
            for content in list(&mut sides.recorded, "contents") {
                let parts = &content["parts"];
                let is_text = |part: &Value| part.get("text").is_some();
                let is_several = parts.as_array().unwrap().len() > 1;
                if content["role"] == "user"
                    && is_several
                    && parts.as_array().unwrap().iter().all(is_text)
                {
                    content["parts"] = json!([{ "text": text(parts) }]);
                }
            }
        },
    ),
    always(
        "one content of the user",
        "contents of the user that follow each other are sent as one",
        merge_user_contents,
    ),
    // Responses of the model.
    always(
        "signatures on their parts",
        "a signature goes back on the part that it came with; the recorded client moved it to the thought before it",
        |sides| {
            let recorded = list(&mut sides.recorded, "contents");
            for (recorded, sent) in recorded.zip(list(&mut sides.sent, "contents")) {
                let has_signed_thought = recorded["parts"][0]["thought"] == true
                    && recorded["parts"][0].get(SIGNATURE).is_some();
                if has_signed_thought
                    && let Some(text) = sent.pointer_mut("/parts/1")
                    && let Some(signature) = object(text).remove(SIGNATURE)
                {
                    sent["parts"][0][SIGNATURE] = signature;
                }
            }
        },
    ),
    always(
        "code that ran at the provider",
        "it is part of the model's content; the recorded client dropped it",
        |sides| {
            for content in list(&mut sides.sent, "contents") {
                let is_code = |part: &Value| {
                    let kinds = ["executableCode", "codeExecutionResult"];
                    kinds.iter().any(|kind| part.get(kind).is_some())
                };
                let parts = content["parts"].as_array_mut().unwrap();
                parts.retain(|part| !is_code(part));
            }
        },
    ),
    // Results.
    always(
        "results in the order of the calls",
        "results are sent in the order of the calls, not in that of their completion",
        |sides| {
            for body in [&mut sides.recorded, &mut sides.sent] {
                for content in list(body, "contents") {
                    let parts = content["parts"].as_array_mut().unwrap();
                    parts.sort_by_key(|part| part["functionResponse"]["name"].to_string());
                }
            }
        },
    ),
    always(
        "results are text",
        "results of tools are text, also those that are JSON",
        |sides| {
            for part in parts(&mut sides.recorded) {
                if let Some(result) = part.pointer_mut("/functionResponse/response/result") {
                    *result = plain(result).into();
                }
            }
        },
    ),
    always(
        "results in envelopes",
        "a tool result is enclosed in tags that the tool cannot forge",
        |sides| {
            for part in parts(&mut sides.sent) {
                if let Some(result) = part.pointer_mut("/functionResponse/response/result")
                    && let Some(text) = result.as_str().and_then(unsealed)
                {
                    *result = text.into();
                }
            }
        },
    ),
    always(
        "media are marked",
        "a text before each media item describes it and says that it contains no instructions",
        |sides| {
            for content in list(&mut sides.sent, "contents") {
                let parts = content["parts"].as_array_mut().unwrap();
                parts.retain(|part| !is_media_marker(part));
            }
        },
    ),
    always(
        "media of a tool follow in a user message",
        "models before Gemini 3 accept only text in results",
        media_of_tools,
    ),
];

const SIGNATURE: &str = "thoughtSignature";

fn remove_thought(part: &mut Value) {
    if part["thought"] == false {
        object(part).remove("thought");
    }
}

/// Moves media back into the results that they came from.
fn media_of_tools(sides: &mut Sides) {
    let contents = sides.sent["contents"].as_array_mut().unwrap();
    for (index, content) in contents.iter_mut().enumerate() {
        let parts = content["parts"].as_array_mut().unwrap();
        let is_about_media = |part: &Value| {
            let text = part["text"].as_str().unwrap_or_default();
            text.contains("Result of the call ")
        };
        let Some(at) = parts.iter().position(is_about_media) else {
            continue;
        };
        let media = parts.split_off(at).split_off(1);
        let result = "/parts/0/functionResponse/response/result";
        // The text of this result is about its media.
        let text = sides.recorded["contents"][index].pointer(result);
        *content.pointer_mut(result).unwrap() = text.unwrap().clone();
        content["parts"][0]["functionResponse"]["parts"] = media.into();
    }
}

/// Merges contents of the user that follow each other.
fn merge_user_contents(sides: &mut Sides) {
    let mut contents: Vec<Value> = Vec::new();
    for content in std::mem::take(sides.recorded["contents"].as_array_mut().unwrap()) {
        let is_user = |content: &Value| content["role"] == "user";
        match contents.last_mut() {
            Some(last) if is_user(last) && is_user(&content) => {
                let parts = content["parts"].as_array().unwrap().clone();
                last["parts"].as_array_mut().unwrap().extend(parts);
            }
            _ => contents.push(content),
        }
    }
    sides.recorded["contents"] = contents.into();
}

fn parts(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    list(body, "contents").flat_map(|content| list(content, "parts"))
}
