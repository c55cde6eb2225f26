//! Ollama.

use serde_json::{Value, json};
use turnwright_core::{ModelSettings, Tool};
use turnwright_models::ollama::{OllamaCodec, Options};
use turnwright_models::{ModelBuilder, Ollama, Protocol};

use super::comparison::{Difference, always, compare_sessions, list, object, unsealed};
use super::turns::{self, ANSWER, Caught, Outcome, RecordedCall, Step, recorded_tool};
use super::{strings, text, user};
use crate::wire::Recorded;

/// In the order in which they are applied.
const DIFFERENCES: &[Difference] = &[
    always(
        "no empty options",
        "`options: {}` means the same as no options",
        |sides| {
            if sides.recorded["options"] == json!({}) {
                object(&mut sides.recorded).remove("options");
            }
        },
    ),
    always(
        "results in envelopes",
        "a tool result is enclosed in tags that the tool cannot forge",
        |sides| {
            for message in list(&mut sides.sent, "messages") {
                if message["role"] == "tool"
                    && let Some(text) = message["content"].as_str().and_then(unsealed)
                {
                    message["content"] = text.into();
                }
            }
        },
    ),
    always(
        "calls have no type",
        "the server's own types have none",
        |sides| {
            for message in list(&mut sides.recorded, "messages") {
                for call in list(message, "tool_calls") {
                    object(call).remove("type");
                }
            }
        },
    ),
    always(
        "ids of calls",
        "calls and results have ids, so that two calls of one tool can be told apart; the recorded client dropped them",
        |sides| {
            for message in list(&mut sides.sent, "messages") {
                object(message).remove("tool_call_id");
                for call in list(message, "tool_calls") {
                    object(call).remove("id");
                }
            }
        },
    ),
];

#[tokio::test]
async fn recorded_requests_are_reproduced() {
    compare_sessions(
        Protocol::Ollama,
        DIFFERENCES,
        async |exchange, before, continued| {
            let (system, steps) = conversation(&exchange.request, before, continued);
            Some(send(&exchange.request, &system, &steps).await)
        },
    )
    .await;
}

/// Returns the request that a turn sends.
async fn send(body: &Value, system: &str, steps: &[Step]) -> Value {
    let play = |caught| {
        let options = Options::new().stream(false);
        builder(&caught)
            .model("any")
            .options(options)
            .build()
            .unwrap()
    };
    let history = turns::play(steps, play).await;
    let caught = Caught::answering(response(&json!({ "content": ANSWER })));
    let model = builder(&caught)
        .options(options(body))
        .settings(settings(body))
        .build()
        .unwrap();
    let sent = turns::send(model, &caught, system, tools(body), history).await;
    sent.unwrap()
}

fn builder(caught: &Caught) -> ModelBuilder<OllamaCodec> {
    Ollama::builder("http://127.0.0.1:9")
        .transport(caught.clone())
        .explain_envelopes(false)
}

/// Returns a response with this message.
fn response(message: &Value) -> String {
    json!({ "message": message, "done": true, "done_reason": "stop" }).to_string()
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let functions = tools.map(|tool| &tool["function"]);
    let tools = functions.map(|function| recorded_tool(function, &function["parameters"]).unwrap());
    tools.collect()
}

/// Returns the parameters specific to this protocol.
fn options(body: &Value) -> Options {
    let mut options = Options::new();
    for (name, value) in body.as_object().unwrap() {
        let is_config = name == "options";
        if let Ok(with) = options.clone().extra(name, value.clone())
            && !is_config
        {
            options = with;
        }
    }
    options.stream(body["stream"] == true)
}

/// Returns the parameters common to all protocols.
fn settings(body: &Value) -> ModelSettings {
    let options = &body["options"];
    let mut settings = ModelSettings::new();
    settings.temperature = options["temperature"].as_f64();
    settings.max_output_tokens = options["num_predict"].as_u64();
    settings.stop_sequences = strings(&options["stop"]);
    settings
}

/// Returns the system prompt and the conversation. Responses that were recorded are used as they were received.
fn conversation(body: &Value, earlier: &[Recorded], continued: &mut usize) -> (String, Vec<Step>) {
    let messages = body["messages"].as_array().unwrap();
    let mut system = String::new();
    let mut steps = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match message["role"].as_str().unwrap() {
            "system" => system.push_str(&text(&message["content"])),
            "user" => steps.push(Step::User(user(&message["content"], []))),
            "assistant" => {
                let body = match earlier.iter().find(|item| is_response(item, message)) {
                    Some(exchange) => {
                        *continued += 1;
                        exchange.body.clone()
                    }
                    None => response(message),
                };
                let calls = calls(message, &messages[index + 1..]);
                steps.push(Step::Response { body, calls });
            }
            "tool" => {}
            role => panic!("a message of {role}"),
        }
    }
    (system, steps)
}

/// Returns `true` if an exchange ended with this message.
fn is_response(exchange: &Recorded, message: &Value) -> bool {
    let Ok(reply) = Protocol::Ollama.decode(None, exchange.body.as_bytes()) else {
        return false;
    };
    let called = reply.tool_calls.iter().map(|call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        json!({ "name": call.name, "arguments": arguments })
    });
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let is_same = called.eq(calls.map(|call| call["function"].clone()));
    is_same && reply.text == message["content"]
}

fn calls(message: &Value, rest: &[Value]) -> Vec<RecordedCall> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls = calls.zip(rest).map(|(call, result)| {
        let function = &call["function"];
        assert_eq!(function["name"], result["tool_name"]);
        RecordedCall {
            name: function["name"].as_str().unwrap().to_owned(),
            arguments: function["arguments"].clone(),
            outcome: Outcome::Text(text(&result["content"])),
        }
    });
    calls.collect()
}
