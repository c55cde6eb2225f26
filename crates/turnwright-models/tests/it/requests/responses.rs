//! OpenAI Responses.

mod differences;

use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::settings::ToolChoice;
use turnwright_core::{Media, Message, ModelSettings};
use turnwright_models::responses::{Options, ResponsesCodec, SystemPrompt};
use turnwright_models::{ModelBuilder, Protocol, Responses};

use self::differences::DIFFERENCES;
use super::comparison::{Comparison, object};
use super::turns::{self, ANSWER, Caught, Outcome, RecordedCall, Step, UNUSED_URL, recorded_tool};
use super::{attached, text, user};
use crate::wire::recorded;

#[tokio::test]
async fn recorded_requests_are_reproduced() {
    let Some(recorded) = recorded(Protocol::Responses) else {
        return;
    };
    let mut comparison = Comparison::new("responses", DIFFERENCES);
    // Refused WebSocket handshakes have no body.
    for exchange in recorded.iter().filter(|item| item.request.is_object()) {
        let body = &exchange.request;
        let (system, steps) = conversation(body);
        let model = |caught| {
            let model = builder(&caught).model("any");
            let options = Options::new().stream(false);
            let model = model.options(options).use_previous_response_id(true);
            model.build().unwrap()
        };
        let history = turns::play(&steps, model).await;
        let message =
            json!({ "type": "message", "content": [{ "type": "output_text", "text": ANSWER }] });
        let caught = Caught::answering(response("resp", &[message]));
        let tools: Vec<&Value> = body["tools"].as_array().into_iter().flatten().collect();
        let is_strict = |tool: &&Value| tool["strict"] == true;
        let how = match body.get("instructions") {
            Some(_) => SystemPrompt::Instructions,
            None => SystemPrompt::System,
        };
        let model = builder(&caught)
            .options(options(body))
            .settings(settings(body))
            .strict_tools(!tools.is_empty() && tools.iter().all(is_strict))
            .system_prompt(how)
            .use_previous_response_id(body["previous_response_id"].is_string())
            .build()
            .unwrap();
        let tools = tools.into_iter();
        let tools = tools.map(|tool| recorded_tool(tool, &tool["parameters"]).unwrap());
        let sent = turns::send(model, &caught, &system, tools.collect(), history).await;
        comparison.add(&exchange.name(), body, sent.unwrap());
    }
    comparison.finish();
}

fn builder(caught: &Caught) -> ModelBuilder<ResponsesCodec> {
    Responses::builder(UNUSED_URL)
        .transport(caught.clone())
        .explain_envelopes(false)
        .accepted_media(|_| true)
}

fn response(id: &str, output: &[Value]) -> String {
    json!({ "id": id, "status": "completed", "output": output }).to_string()
}

/// The items of a response, and the results of its calls.
#[derive(Default)]
struct Response {
    output: Vec<Value>,
    results: Vec<String>,
}

impl Response {
    fn into_step(self, id: &str) -> Step {
        let calls = self.output.iter();
        let calls = calls.filter(|item| item["type"] == "function_call");
        let calls = calls.zip(self.results).map(|(call, result)| RecordedCall {
            name: call["name"].as_str().unwrap().to_owned(),
            arguments: serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap(),
            outcome: Outcome::Text(result),
        });
        Step::Response {
            calls: calls.collect(),
            body: response(id, &self.output),
        }
    }
}

/// Returns the system prompt and the conversation.
fn conversation(body: &Value) -> (String, Vec<Step>) {
    let mut system = body["instructions"].as_str().unwrap_or_default().to_owned();
    let mut steps = Vec::new();
    if let Some(id) = body["previous_response_id"].as_str() {
        steps.push(Step::User(Message::user("Hello").build().unwrap()));
        let greeting = Response {
            output: vec![json!({ "type": "message", "content": "Hi." })],
            results: Vec::new(),
        };
        steps.push(greeting.into_step(id));
    }
    let mut open = Response::default();
    for (index, item) in body["input"].as_array().unwrap().iter().enumerate() {
        match (item["type"].as_str().unwrap(), item["role"].as_str()) {
            ("message", Some("system")) if index == 0 => system = text(&item["content"]),
            ("message", Some("user" | "system")) => {
                close(&mut open, &mut steps);
                steps.push(Step::User(user(&item["content"], files(&item["content"]))));
            }
            ("function_call_output", _) => {
                open.results
                    .push(item["output"].as_str().unwrap().to_owned());
            }
            _ => {
                if !open.results.is_empty() {
                    close(&mut open, &mut steps);
                }
                open.output.push(item.clone());
            }
        }
    }
    close(&mut open, &mut steps);
    (system, steps)
}

/// Ends a response, if there is one.
fn close(open: &mut Response, steps: &mut Vec<Step>) {
    let response = std::mem::take(open);
    if !response.output.is_empty() {
        steps.push(response.into_step("resp"));
    }
}

/// Returns files as media whose bytes are their address.
fn files(content: &Value) -> impl Iterator<Item = Media> {
    let parts = content.as_array().into_iter().flatten();
    let files = parts.filter(|part| part["type"] == "input_file");
    files.map(|part| {
        let bytes = part["file_url"].as_str().unwrap().as_bytes().to_vec();
        attached(
            MediaKind::Document,
            "application/pdf",
            bytes,
            "document.pdf",
        )
    })
}

/// Returns the parameters specific to this protocol.
fn options(body: &Value) -> Options {
    let mut options = Options::new();
    for (name, value) in body.as_object().unwrap() {
        match name.as_str() {
            "reasoning" => {
                let mut rest = value.clone();
                object(&mut rest).remove("effort");
                options = options.reasoning(rest);
            }
            _ => {
                if let Ok(with) = options.clone().extra(name, value.clone()) {
                    options = with;
                }
            }
        }
    }
    options.stream(body["stream"] == true)
}

/// Returns the parameters common to all protocols.
fn settings(body: &Value) -> ModelSettings {
    let mut settings = ModelSettings::new();
    settings.temperature = body["temperature"].as_f64();
    settings.top_p = body["top_p"].as_f64();
    settings.max_output_tokens = body["max_output_tokens"].as_u64();
    let effort = body["reasoning"]["effort"].as_str();
    settings.reasoning_effort = effort.map(|effort| effort.to_owned().into());
    settings.parallel_tool_calls = body["parallel_tool_calls"].as_bool();
    settings.tool_choice = match &body["tool_choice"] {
        Value::Null => None,
        Value::String(word) if word == "required" => Some(ToolChoice::Required),
        Value::String(word) if word == "none" => Some(ToolChoice::None),
        Value::String(word) => panic!("a tool choice of {word}"),
        named => Some(ToolChoice::Tool(named["name"].as_str().unwrap().to_owned())),
    };
    settings
}
