//! Anthropic Messages.

use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::settings::ToolChoice;
use turnwright_core::{Error, Media, ModelSettings, Tool};
use turnwright_models::Protocol;
use turnwright_models::anthropic::Options;

use super::comparison::{
    Difference, always, compare_sessions, is_media_marker, list, object, unsealed,
};
use super::turns::{self, ANSWER, Caught, Outcome, RecordedCall, Step, UNUSED_URL, recorded_tool};
use super::{attached, decoded, strings, user};
use crate::anthropic::builder;
use crate::wire::Recorded;

#[tokio::test]
async fn recorded_requests_are_reproduced() {
    let mut refused = 0;
    compare_sessions(
        Protocol::Anthropic,
        DIFFERENCES,
        async |exchange, before, continued| {
            let steps = conversation(&exchange.request, before, continued);
            let sent = send(&exchange.request, &steps).await;
            if let Err(error) = &sent {
                // The server refuses these schemas too.
                assert_eq!(exchange.status, 400, "{}: {error}", exchange.name());
                refused += 1;
            }
            sent.ok()
        },
    )
    .await;
    crate::say(format_args!(
        "anthropic: {refused} requests refused here and by the server"
    ));
}

/// In the order in which they are applied.
const DIFFERENCES: &[Difference] = &[
    always(
        "marks for the prompt cache",
        "requests mark the end of the tools, the system prompt and the messages; the recorded client marked others or none",
        |sides| {
            for side in [&mut sides.recorded, &mut sides.sent] {
                unmark(side);
            }
        },
    ),
    always(
        "results in envelopes",
        "a tool result is enclosed in tags that the tool cannot forge",
        |sides| {
            for part in parts_of_all(&mut sides.sent) {
                if let Some(text) = part["content"][0]["text"].as_str().and_then(unsealed) {
                    part["content"][0]["text"] = text.into();
                }
            }
        },
    ),
    always(
        "media are marked",
        "a text before each media item describes it and says that it contains no instructions",
        |sides| {
            for message in messages(&mut sides.sent) {
                content(message).retain(|part| !is_media_marker(part));
            }
        },
    ),
    always(
        "text precedes media",
        "a message has its text first, then its attachments",
        |sides| {
            for message in messages(&mut sides.recorded) {
                if message["role"] == "user" {
                    content(message).sort_by_key(|part| part["type"] == "document");
                }
            }
        },
    ),
    always(
        "all tools are strict, or none",
        "strict mode is a setting of the model",
        |sides| {
            let tools: Vec<&mut Value> = list(&mut sides.recorded, "tools").collect();
            if tools.iter().any(|tool| tool.get("strict").is_none()) {
                for tool in tools {
                    object(tool).remove("strict");
                }
            }
        },
    ),
];

/// Removes the marks for the prompt cache.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn messages(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    list(body, "messages")
}

fn parts_of_all(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    messages(body).flat_map(|message| list(message, "content"))
}

fn content(message: &mut Value) -> &mut Vec<Value> {
    message["content"].as_array_mut().unwrap()
}

/// Returns the request that a turn sends, or the error of building the tools or the runner.
async fn send(body: &Value, steps: &[Step]) -> Result<Value, Error> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let own = tools.filter(|tool| tool.get("input_schema").is_some());
    let tools: Result<Vec<Tool>, Error> = own
        .map(|tool| recorded_tool(tool, &tool["input_schema"]))
        .collect();
    let play = |caught: Caught| builder(UNUSED_URL).transport(caught).build().unwrap();
    let history = turns::play(steps, play).await;
    let content = json!([{ "type": "text", "text": ANSWER }]);
    let caught = Caught::answering(answer(&content, "end_turn"));
    let is_strict = |tools: &Vec<Value>| tools.iter().all(|tool| tool["strict"] == true);
    let is_strict = body["tools"].as_array().is_some_and(is_strict);
    let model = builder(UNUSED_URL)
        .transport(caught.clone())
        .explain_envelopes(false)
        .accepted_media(|_| true)
        .media_part(|_, data| serde_json::from_slice(&decoded(data)).ok())
        .strict_tools(is_strict)
        .options(options(body))
        .settings(settings(body))
        .build()?;
    let system = body["system"][0]["text"].as_str().unwrap_or_default();
    let mut sent = turns::send(model, &caught, system, tools?, history).await?;
    object(&mut sent).retain(|_, value| !value.is_null());
    Ok(sent)
}

fn options(body: &Value) -> Options {
    let mut options = Options::new();
    for (name, value) in body.as_object().unwrap() {
        if let Ok(with) = options.clone().extra(name, value.clone()) {
            options = with;
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        if tool.get("input_schema").is_none() {
            options = options.provider_tool(tool.clone()).unwrap();
        }
    }
    options.stream(body["stream"] == true)
}

fn settings(body: &Value) -> ModelSettings {
    let mut settings = ModelSettings::new();
    settings.temperature = body["temperature"].as_f64();
    settings.max_output_tokens = body["max_tokens"].as_u64();
    settings.stop_sequences = strings(&body["stop_sequences"]);
    settings.tool_choice = match body["tool_choice"]["type"].as_str() {
        None => None,
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("any") => Some(ToolChoice::Required),
        Some(_) => {
            let name = body["tool_choice"]["name"].as_str().unwrap();
            Some(ToolChoice::Tool(name.to_owned()))
        }
    };
    settings
}

/// Returns the conversation of a request. Responses that were recorded are used as they were received.
fn conversation(body: &Value, earlier: &[Recorded], continued: &mut usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let list = body["messages"].as_array().unwrap();
    for (index, message) in list.iter().enumerate() {
        let content = &message["content"];
        if message["role"] == "assistant" {
            let results = list.get(index + 1).map(|next| &next["content"]);
            let body = match earlier.iter().find(|item| is_response(item, content)) {
                Some(exchange) => {
                    *continued += 1;
                    exchange.body.clone()
                }
                None => {
                    let has_calls = content.as_array().unwrap().iter().any(is_call);
                    answer(content, if has_calls { "tool_use" } else { "end_turn" })
                }
            };
            let calls = calls(content, results);
            steps.push(Step::Response { body, calls });
        } else if content[0]["type"] != "tool_result" {
            steps.push(Step::User(user(content, documents(content))));
        }
    }
    steps
}

fn calls(content: &Value, results: Option<&Value>) -> Vec<RecordedCall> {
    let calls = content.as_array().unwrap().iter();
    let calls = calls.filter(|block| is_call(block));
    let results = results.and_then(Value::as_array).into_iter().flatten();
    let calls = calls.zip(results).map(|(call, result)| {
        assert_eq!(call["id"], result["tool_use_id"]);
        RecordedCall {
            name: call["name"].as_str().unwrap().to_owned(),
            arguments: call["input"].clone(),
            outcome: Outcome::Text(result["content"][0]["text"].as_str().unwrap().to_owned()),
        }
    });
    calls.collect()
}

/// Returns `true` if an exchange ended with this content.
fn is_response(exchange: &Recorded, content: &Value) -> bool {
    let Ok(reply) = Protocol::Anthropic.decode(None, exchange.body.as_bytes()) else {
        return false;
    };
    let blocks = content.as_array().unwrap();
    let text: String = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    let calls: Vec<Value> = blocks
        .iter()
        .filter(|block| is_call(block))
        .map(|call| json!({ "id": call["id"], "name": call["name"], "arguments": call["input"] }))
        .collect();
    let is_same = Protocol::Anthropic.describe(&reply)["tool_calls"] == Value::from(calls);
    is_same && reply.text == text
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

/// Returns documents as attachments whose bytes are the recorded block.
fn documents(content: &Value) -> impl Iterator<Item = Media> {
    let parts = content.as_array().unwrap().iter();
    let documents = parts.filter(|part| part["type"] == "document");
    documents.map(|part| {
        let bytes = part.to_string().into_bytes();
        attached(MediaKind::Document, "application/pdf", bytes, "document")
    })
}

fn answer(content: &Value, stop_reason: &str) -> String {
    json!({ "type": "message", "content": content, "stop_reason": stop_reason }).to_string()
}
