//! Splits a recorded request into the inputs of a turn.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::media::MediaKind;
use turnwright_core::record::Record;
use turnwright_core::record::{Thought, ToolResults};
use turnwright_core::settings::ToolChoice;
use turnwright_core::{Media, Message, ModelSettings, Tool, ToolCall};
use turnwright_models::chat_completions::Options;

use super::response;
use crate::requests::turns::{Outcome, RecordedCall, Step, recorded_tool};
use crate::requests::{attached, decoded, strings, text, user};

/// The parts of a recorded request.
pub(super) struct Request {
    pub(super) options: Options,
    pub(super) settings: ModelSettings,
    pub(super) max_completion_tokens: bool,
    pub(super) system: String,
    pub(super) tools: Vec<Tool>,
    pub(super) conversation: Vec<Reply>,
}

/// A part of the conversation.
pub(super) enum Reply {
    User(Arc<Message>),
    /// A model message, and the results of its calls.
    Model {
        message: Value,
        results: Vec<Outcome>,
    },
}

impl Request {
    pub(super) fn read(body: &Value) -> Self {
        let mut request = Request {
            options: options(body),
            settings: settings(body),
            max_completion_tokens: body.get("max_completion_tokens").is_some(),
            system: String::new(),
            tools: tools(&body["tools"]),
            conversation: Vec::new(),
        };
        for message in body["messages"].as_array().unwrap() {
            let content = &message["content"];
            match message["role"].as_str().unwrap() {
                "system" if request.conversation.is_empty() => {
                    request.system.push_str(&text(content));
                }
                "user" => {
                    let parts = content.as_array().into_iter().flatten();
                    let media = parts.filter(|part| part["type"] != "text").map(media);
                    request.conversation.push(Reply::User(user(content, media)));
                }
                "assistant" => request.conversation.push(Reply::Model {
                    message: message.clone(),
                    results: Vec::new(),
                }),
                "tool" => request.add_result(message),
                role => panic!("a message of {role} there"),
            }
        }
        request
    }

    /// Results are in the order of the calls.
    fn add_result(&mut self, message: &Value) {
        let Some(Reply::Model {
            message: asked,
            results,
        }) = self.conversation.last_mut()
        else {
            panic!("a result without a call");
        };
        let call = &asked["tool_calls"][results.len()];
        assert_eq!(call["id"], message["tool_call_id"]);
        results.push(match &message["content"] {
            Value::Array(parts) if parts[0]["type"] != "text" => Outcome::Media(media(&parts[0])),
            content => Outcome::Text(text(content)),
        });
    }

    /// Returns the conversation as steps of turns.
    pub(super) fn steps(&self) -> Vec<Step> {
        let steps = self.conversation.iter().map(|reply| match reply {
            Reply::User(message) => Step::User(Arc::clone(message)),
            Reply::Model { message, results } => {
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                let calls = calls.zip(results).map(recorded_call);
                Step::Response {
                    body: response(message),
                    calls: calls.collect(),
                }
            }
        });
        steps.collect()
    }

    /// Returns the conversation as records without any state of ours.
    pub(super) fn records_by_hand(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for (place, reported) in (1..).zip(&self.conversation) {
            match reported {
                Reply::User(message) => records.push(Record::Message(Arc::clone(message))),
                Reply::Model { message, results } => {
                    if let Some(thought) = message["reasoning_content"].as_str() {
                        records.push(Record::Thought(Thought::new(thought).build().unwrap()));
                    }
                    let words = text(&message["content"]);
                    if !words.is_empty() {
                        let message = Message::assistant(words).build().unwrap();
                        records.push(Record::Message(message));
                    }
                    let calls = message["tool_calls"].as_array().into_iter().flatten();
                    for (call, outcome) in calls.zip(results) {
                        records.push(Record::ToolCall(call_by_hand(call, outcome, place)));
                    }
                }
            }
        }
        records
    }
}

fn recorded_call((call, outcome): (&Value, &Outcome)) -> RecordedCall {
    let function = &call["function"];
    let arguments = serde_json::from_str(function["arguments"].as_str().unwrap());
    RecordedCall {
        name: function["name"].as_str().unwrap().to_owned(),
        arguments: match arguments.unwrap() {
            Value::Null => json!({}),
            arguments => arguments,
        },
        outcome: outcome.clone(),
    }
}

/// Returns a call of the response at this position: proposed with the others, settled before the next response.
fn call_by_hand(call: &Value, outcome: &Outcome, place: u64) -> Arc<ToolCall> {
    let function = &call["function"];
    let results = match outcome {
        Outcome::Text(text) => {
            let artifact = SpooledArtifact::in_memory(text.clone(), ArtifactKind::TEXT);
            ToolResults::Artifacts(vec![artifact])
        }
        Outcome::Media(media) => ToolResults::Media(vec![media.clone()]),
    };
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    ToolCall::builder(
        function["name"].as_str().unwrap(),
        function["arguments"].as_str().unwrap(),
    )
    .provider_id(call["id"].as_str().unwrap())
    .results(results)
    .inline(true)
    .created_at(at(place * 10))
    .updated_at(at(place * 10 + 5))
    .completed_at(at(place * 10 + 5))
    .build()
    .unwrap()
}

/// Returns the parameters specific to this protocol. Invalid ones are omitted and show up as a difference.
fn options(body: &Value) -> Options {
    let mut options = Options::new();
    for (name, value) in body.as_object().unwrap() {
        if let Ok(with) = options.clone().extra(name, value.clone()) {
            options = with;
        }
    }
    match (&body["stream"], &body["stream_options"]) {
        (Value::Bool(true), Value::Null) => options.stream_options(Value::Null),
        (Value::Bool(true), _) => options,
        _ => options.stream(false),
    }
}

/// Returns the parameters common to all protocols. Invalid ones are omitted and show up as a difference.
fn settings(body: &Value) -> ModelSettings {
    let mut settings = ModelSettings::new();
    settings.temperature = body["temperature"].as_f64();
    settings.top_p = body["top_p"].as_f64();
    settings.max_output_tokens = ["max_tokens", "max_completion_tokens"]
        .iter()
        .find_map(|name| body[name].as_u64());
    settings.stop_sequences = strings(&body["stop"]);
    settings.seed = body["seed"].as_i64();
    let effort = body["reasoning_effort"].as_str();
    settings.reasoning_effort = effort.map(|effort| effort.to_owned().into());
    settings.parallel_tool_calls = body["parallel_tool_calls"].as_bool();
    settings.tool_choice = match &body["tool_choice"] {
        Value::Null => None,
        Value::String(word) => Some(match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            // `any` is Mistral's name for it.
            "required" | "any" => ToolChoice::Required,
            word => panic!("a tool choice of {word}"),
        }),
        named => Some(ToolChoice::Tool(
            named["function"]["name"].as_str().unwrap().to_owned(),
        )),
    };
    if settings.validate().is_err() {
        settings.temperature = None;
    }
    settings.validate().unwrap();
    settings
}

fn tools(recorded: &Value) -> Vec<Tool> {
    let functions = recorded.as_array().into_iter().flatten();
    let functions = functions.map(|tool| &tool["function"]);
    let tools = functions.map(|function| recorded_tool(function, &function["parameters"]).unwrap());
    tools.collect()
}

fn media(part: &Value) -> Media {
    let kind = part["type"].as_str().unwrap();
    let expected = &part[kind];
    match kind {
        "image_url" => at_address(MediaKind::Image, "image/png", &expected["url"], "image"),
        "video_url" => at_address(MediaKind::Video, "video/mp4", &expected["url"], "video"),
        "document_url" => at_address(
            MediaKind::Document,
            "application/pdf",
            expected,
            part["document_name"].as_str().unwrap(),
        ),
        "file" => at_address(
            MediaKind::Document,
            "application/pdf",
            &expected["file_data"],
            expected["filename"].as_str().unwrap(),
        ),
        "input_audio" => {
            let data = expected["data"].as_str().or(expected.as_str()).unwrap();
            let mime = match expected["format"].as_str() {
                Some("wav") => "audio/wav",
                _ => "audio/mpeg",
            };
            attached(MediaKind::Audio, mime, decoded(data), "audio")
        }
        other => panic!("a part of type {other}"),
    }
}

/// Returns media from a data URL. For any other URL the address itself is the content: nothing is fetched here.
fn at_address(kind: MediaKind, mime: &str, url: &Value, name: &str) -> Media {
    let url = url.as_str().unwrap();
    match url
        .strip_prefix("data:")
        .and_then(|item| item.split_once(";base64,"))
    {
        Some((mime, data)) => attached(kind, mime, decoded(data), name),
        None => attached(kind, mime, url.as_bytes().to_vec(), name),
    }
}
