//! A missing variable, a wrong key, a model that does not exist, and a base URL of something else, for all protocols.

use serde_json::{Value, json};
use turnwright_core::{Error, ErrorCode, ErrorKind};
use turnwright_models::{Anthropic, ChatCompletions, Gemini, Ollama, Protocol, Responses};
use turnwright_testkit::server::{Answer, Server};

const KEY: &str = "sk-secret-1234567890";
const MODEL: &str = "misspelt-1";

/// Returns the error of a turn whose only request gets this answer. The request is not repeated.
async fn error_after(protocol: Protocol, answer: Answer) -> Error {
    let server = Server::script([answer]).await.unwrap();
    let model = protocol
        .builder_at(crate::base_url(protocol, &server.url()))
        .model(MODEL)
        .api_key(KEY)
        .no_proxy()
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let outcome = runner.run("Hello").await;
    let error = outcome.into_answer().unwrap_err();
    assert_eq!(server.requests().len(), 1, "{protocol}: {error}");
    assert!(!error.with_causes().contains(KEY), "{error}");
    error
}

/// Reads the environment, so the test below runs it in a separate process.
#[test]
#[ignore = "run by the test below, with an empty environment"]
fn reads_an_empty_environment() {
    let errors = [
        ChatCompletions::from_env().build().unwrap_err(),
        Responses::from_env().build().unwrap_err(),
        Anthropic::from_env().build().unwrap_err(),
        Gemini::from_env().build().unwrap_err(),
        Ollama::from_env().build().unwrap_err(),
    ];
    for (error, protocol) in errors.iter().zip(Protocol::ALL) {
        assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG, "{protocol}");
        // Ollama needs no key: the model is the first thing that is missing.
        let keys = protocol.key_variables();
        let variable = keys.first().copied().unwrap_or("OLLAMA_MODEL");
        assert!(error.message().contains(variable), "{protocol}: {error}");
    }
    let errors = [
        ChatCompletions::from_env().api_key(KEY).build().err(),
        Responses::from_env().api_key(KEY).build().err(),
        Anthropic::from_env().api_key(KEY).build().err(),
        Gemini::from_env().api_key(KEY).build().err(),
    ];
    let variables = [
        "OPENAI_MODEL",
        "OPENAI_MODEL",
        "ANTHROPIC_MODEL",
        "GEMINI_MODEL",
    ];
    for (error, variable) in errors.iter().flatten().zip(variables) {
        assert!(error.message().contains(variable), "{error}");
    }
}

#[test]
fn missing_variables_are_named_in_all_protocols() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.env_clear();
    child.args([
        "--ignored",
        "--exact",
        "wrong_setup::reads_an_empty_environment",
    ]);
    let done = child.output().unwrap();
    let message = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && message.contains("1 passed"),
        "{message}"
    );
}

#[test]
fn all_protocols_have_a_builder_with_a_base_url() {
    let url = "http://127.0.0.1:9/v1";
    let models = [
        format!("{:?}", ChatCompletions::builder(url).model("m").build()),
        format!("{:?}", Responses::builder(url).model("m").build()),
        format!("{:?}", Anthropic::builder(url).model("m").build()),
        format!("{:?}", Gemini::builder(url).model("m").build()),
        format!("{:?}", Ollama::builder(url).model("m").build()),
    ];
    for (model, protocol) in models.iter().zip(Protocol::ALL) {
        assert!(model.starts_with("Ok(Model"), "{protocol}: {model}");
        assert!(model.contains("http://127.0.0.1:9/"), "{protocol}: {model}");
    }
}

/// The answers of real servers to a wrong key.
fn wrong_key(protocol: Protocol) -> (u16, Value) {
    let openai = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}."), "type": "invalid_request_error", "code": "invalid_api_key" } });
    match protocol {
        Protocol::Anthropic => (
            401,
            json!({ "type": "error", "error": { "type": "authentication_error", "message": "invalid x-api-key" } }),
        ),
        Protocol::Gemini => (
            400,
            json!({ "error": { "code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT" } }),
        ),
        Protocol::Ollama => (401, json!({ "error": "unauthorized" })),
        _ => (401, openai),
    }
}

#[tokio::test]
async fn a_wrong_key_is_denied_with_the_place_to_set_it() {
    for protocol in Protocol::ALL {
        let (status, body) = wrong_key(protocol);
        let error = error_after(protocol, Answer::json(status, body)).await;
        assert_eq!(error.code(), ErrorCode::MODEL_SERVER_ERROR, "{protocol}");
        assert_eq!(error.kind(), ErrorKind::Denied, "{protocol}");
        let variable = match protocol {
            Protocol::Anthropic => "ANTHROPIC_API_KEY",
            Protocol::Gemini => "GEMINI_API_KEY",
            // It has none.
            Protocol::Ollama => "`api_key`",
            _ => "OPENAI_API_KEY",
        };
        assert!(error.message().contains(variable), "{protocol}: {error}");
    }
}

#[tokio::test]
async fn a_model_that_does_not_exist_is_named_with_advice() {
    for protocol in Protocol::ALL {
        let body = match protocol {
            Protocol::Anthropic => {
                json!({ "type": "error", "error": { "type": "not_found_error", "message": format!("model: {MODEL}") } })
            }
            Protocol::Gemini => {
                json!({ "error": { "code": 404, "message": format!("models/{MODEL} is not found for API version v1beta"), "status": "NOT_FOUND" } })
            }
            Protocol::Ollama => json!({ "error": format!("model '{MODEL}' not found") }),
            _ => {
                json!({ "error": { "message": format!("The model `{MODEL}` does not exist"), "type": "invalid_request_error", "code": "model_not_found" } })
            }
        };
        let error = error_after(protocol, Answer::json(404, body)).await;
        assert_eq!(error.kind(), ErrorKind::NotFound, "{protocol}");
        let advice = match protocol {
            Protocol::Ollama => "ollama pull misspelt-1",
            _ => "does the model exist",
        };
        assert!(
            error.message().contains(MODEL) && error.message().contains(advice),
            "{protocol}: {error}"
        );
    }
}

#[tokio::test]
async fn a_login_page_is_named_whether_streamed_or_not() {
    let page = "<!DOCTYPE html><html><title>Sign in</title>";
    for protocol in Protocol::ALL {
        for content_type in ["text/html; charset=utf-8", "text/event-stream"] {
            let answer = Answer::status(200).header("content-type", content_type);
            let error = error_after(protocol, answer.body(page)).await;
            assert_eq!(error.code(), ErrorCode::WIRE_ERROR, "{protocol}");
            let message = error.message();
            assert!(
                message.contains("this looks like a proxy's login or error page")
                    && message.contains("base URL"),
                "{protocol}, {content_type}: {message}"
            );
        }
    }
}

/// The first event of a stream, and a complete response.
fn response(protocol: Protocol) -> (&'static str, Value, Value) {
    match protocol {
        Protocol::Responses => (
            "OpenAI Responses",
            json!({ "type": "response.created", "response": { "id": "r", "output": [] } }),
            json!({ "object": "response", "id": "r", "status": "completed", "output": [] }),
        ),
        Protocol::Anthropic => (
            "Anthropic Messages",
            json!({ "type": "message_start", "message": { "id": "m", "content": [] } }),
            json!({ "type": "message", "id": "m", "content": [], "stop_reason": "end_turn" }),
        ),
        Protocol::Gemini => (
            "Gemini",
            json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }] }),
            json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] }, "finishReason": "STOP" }] }),
        ),
        Protocol::Ollama => (
            "Ollama",
            json!({ "model": "m", "message": { "content": "Hi" }, "done": false }),
            json!({ "model": "m", "message": { "content": "Hi" }, "done": true }),
        ),
        _ => (
            "Chat Completions",
            json!({ "choices": [{ "delta": { "content": "Hi" } }] }),
            json!({ "choices": [{ "message": { "content": "Hi" }, "finish_reason": "stop" }] }),
        ),
    }
}

#[tokio::test]
async fn responses_of_another_protocol_are_named() {
    for protocol in Protocol::ALL {
        for other in Protocol::ALL.into_iter().filter(|other| *other != protocol) {
            let (title, event, whole) = response(other);
            let stream = match other {
                Protocol::Ollama => Answer::status(200)
                    .header("content-type", "application/x-ndjson")
                    .body(format!("{event}\n")),
                _ => Answer::sse([event.to_string()]),
            };
            for answer in [stream, Answer::json(200, whole)] {
                let error = error_after(protocol, answer).await;
                assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
                assert!(
                    error
                        .message()
                        .contains(&format!("this looks like {title}")),
                    "{other} instead of {protocol}: {error}"
                );
            }
        }
    }
}
