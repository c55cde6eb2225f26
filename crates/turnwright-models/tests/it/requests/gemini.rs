//! Gemini.

mod differences;

use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::settings::ToolChoice;
use turnwright_core::{Media, ModelSettings, Tool};
use turnwright_models::gemini::{GeminiCodec, Options};
use turnwright_models::{Gemini, ModelBuilder, Protocol};

use self::differences::DIFFERENCES;
use super::comparison::compare_sessions;
use super::turns::{self, ANSWER, Caught, Outcome, RecordedCall, Step, UNUSED_URL, recorded_tool};
use super::{attached, decoded, strings, user};
use crate::wire::Recorded;

#[tokio::test]
async fn recorded_requests_are_reproduced() {
    compare_sessions(
        Protocol::Gemini,
        DIFFERENCES,
        async |exchange, before, continued| {
            let steps = conversation(&exchange.request, before, continued);
            Some(send(exchange, &steps).await)
        },
    )
    .await;
}

/// Returns the request that a turn sends.
async fn send(exchange: &Recorded, steps: &[Step]) -> Value {
    let body = &exchange.request;
    let play = |caught| {
        let options = Options::new().stream(false);
        builder(&caught)
            .model("any")
            .options(options)
            .build()
            .unwrap()
    };
    let history = turns::play(steps, play).await;
    let caught = Caught::answering(response(&json!({ "parts": [{ "text": ANSWER }] })));
    let model = exchange.path.split(['/', ':']).rev().nth(1).unwrap();
    let model = builder(&caught)
        .model(model)
        .options(options(exchange))
        .settings(settings(body))
        .build()
        .unwrap();
    let system = &body["systemInstruction"]["parts"][0]["text"];
    let system = system.as_str().unwrap_or_default();
    let sent = turns::send(model, &caught, system, tools(body), history).await;
    sent.unwrap()
}

fn builder(caught: &Caught) -> ModelBuilder<GeminiCodec> {
    Gemini::builder(UNUSED_URL)
        .api_key("key-123456")
        .transport(caught.clone())
        .explain_envelopes(false)
        .accepted_media(|_| true)
}

/// Returns a response with this content.
fn response(content: &Value) -> String {
    json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] }).to_string()
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let functions = tools.filter_map(|tool| tool["functionDeclarations"].as_array());
    let tool = |tool: &Value| {
        let mut schema = tool["parameters"].clone();
        replace_nullable(&mut schema);
        recorded_tool(tool, &schema).unwrap()
    };
    functions.flatten().map(tool).collect()
}

/// Replaces `nullable` of OpenAPI with the type `null` of JSON Schema.
fn replace_nullable(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.remove("nullable") == Some(true.into()) {
                fields["type"] = json!([fields["type"], "null"]);
            }
            fields.values_mut().for_each(replace_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(replace_nullable),
        _ => {}
    }
}

/// Returns the parameters specific to this protocol.
fn options(exchange: &Recorded) -> Options {
    let mut options = Options::new().stream(exchange.path.contains(":stream"));
    let body = &exchange.request;
    for tool in body["tools"].as_array().into_iter().flatten() {
        if !tool["codeExecution"].is_null() {
            options = options.provider_tool(tool.clone()).unwrap();
        }
    }
    let config = body["generationConfig"].as_object().into_iter().flatten();
    for (name, value) in config {
        if let Ok(with) = options.clone().extra(name, value.clone()) {
            options = with;
        }
    }
    options
}

/// Returns the parameters common to all protocols.
fn settings(body: &Value) -> ModelSettings {
    let config = &body["generationConfig"];
    let mut settings = ModelSettings::new();
    settings.temperature = config["temperature"].as_f64();
    settings.top_p = config["topP"].as_f64();
    settings.max_output_tokens = config["maxOutputTokens"].as_u64();
    settings.stop_sequences = strings(&config["stopSequences"]);
    let calling = &body["toolConfig"]["functionCallingConfig"];
    let named = &calling["allowed_function_names"][0];
    settings.tool_choice = match (calling["mode"].as_str(), named.as_str()) {
        (None, _) => None,
        (Some("AUTO"), _) => Some(ToolChoice::Auto),
        (Some("NONE"), _) => Some(ToolChoice::None),
        (Some("ANY"), None) => Some(ToolChoice::Required),
        (Some("ANY"), Some(name)) => Some(ToolChoice::Tool(name.to_owned())),
        (Some(mode), _) => panic!("a mode of {mode}"),
    };
    settings
}

/// Returns the conversation of a request. Responses that were recorded are used as they were received.
fn conversation(body: &Value, earlier: &[Recorded], continued: &mut usize) -> Vec<Step> {
    let contents = body["contents"].as_array().unwrap();
    let mut steps = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let parts = &content["parts"];
        if content["role"] == "model" {
            let results = contents.get(index + 1).map(|next| &next["parts"]);
            let body = match earlier.iter().find(|item| is_response(item, parts)) {
                Some(exchange) => {
                    *continued += 1;
                    exchange.body.clone()
                }
                None => response(content),
            };
            let calls = calls(parts, results);
            steps.push(Step::Response { body, calls });
        } else if parts[0].get("functionResponse").is_none() {
            let media = parts.as_array().unwrap().iter().filter_map(media);
            steps.push(Step::User(user(parts, media)));
        }
    }
    steps
}

/// Returns `true` if an exchange ended with these parts.
fn is_response(exchange: &Recorded, parts: &Value) -> bool {
    let Ok(reply) = Protocol::Gemini.decode(None, exchange.body.as_bytes()) else {
        return false;
    };
    let parts = parts.as_array().unwrap();
    let spoken = parts.iter().filter(|part| part["thought"] != true);
    let text: String = spoken.filter_map(|part| part["text"].as_str()).collect();
    let calls = parts.iter().filter_map(|part| part.get("functionCall"));
    let calls: Vec<Value> = calls
        .map(|call| json!({ "id": call["id"], "name": call["name"], "arguments": call["args"] }))
        .collect();
    let is_same = Protocol::Gemini.describe(&reply)["tool_calls"] == Value::from(calls);
    is_same && reply.text == text
}

fn calls(parts: &Value, results: Option<&Value>) -> Vec<RecordedCall> {
    let calls = parts.as_array().unwrap().iter();
    let calls = calls.filter_map(|part| part.get("functionCall"));
    let results = results.and_then(Value::as_array).into_iter().flatten();
    let results = results.filter_map(|part| part.get("functionResponse"));
    let mut results: Vec<&Value> = results.collect();
    let calls = calls.map(|call| {
        let is_its_result = |result: &&Value| result["name"] == call["name"];
        let result = results.remove(results.iter().position(is_its_result).unwrap());
        RecordedCall {
            name: call["name"].as_str().unwrap().to_owned(),
            arguments: call["args"].clone(),
            outcome: outcome(result),
        }
    });
    calls.collect()
}

fn outcome(result: &Value) -> Outcome {
    match media(&result["parts"][0]) {
        Some(media) => Outcome::Media(media),
        None => Outcome::Text(plain(&result["response"]["result"])),
    }
}

/// Returns a result as text.
fn plain(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn media(part: &Value) -> Option<Media> {
    let data = part.get("inlineData")?;
    let mime = data["mimeType"].as_str().unwrap();
    let kind = match mime.split('/').next().unwrap() {
        "image" => MediaKind::Image,
        "audio" => MediaKind::Audio,
        "video" => MediaKind::Video,
        _ => MediaKind::Document,
    };
    let bytes = decoded(data["data"].as_str().unwrap());
    Some(attached(kind, mime, bytes, "media"))
}
