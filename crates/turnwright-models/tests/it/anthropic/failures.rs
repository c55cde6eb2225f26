//! Errors, refusals and responses that end too early, from a server on the loopback interface.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::{ErrorCode, ErrorKind, EventKind, ModelSettings};
use turnwright_models::Anthropic;
use turnwright_models::retry::RetryPolicy;
use turnwright_testkit::server::{Answer, Server, Step};

use super::turns::{call, echo, says, text};
use super::{builder, events, stream};

/// Returns an error event with its name.
fn frame(error: &str) -> Step {
    Step::Send(format!("event: error\ndata: {error}\n\n").into())
}

fn retrying(url: &str) -> Anthropic {
    let policy = RetryPolicy::new().first_wait(Duration::from_millis(1));
    builder(url).retry(policy).build().unwrap()
}

#[tokio::test]
async fn transient_errors_are_retried() {
    for status in [429, 500, 502, 529] {
        let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
        let server = Server::script([Answer::json(status, error), says("Done.")])
            .await
            .unwrap();
        let runner = turnwright_core::runner(retrying(&server.url()))
            .build()
            .unwrap();
        assert_eq!(runner.run("Go.").await.text, "Done.", "{status}");
        assert_eq!(server.requests().len(), 2, "{status}");
    }
}

#[tokio::test]
async fn error_event_retracts_what_was_shown_and_is_retried() {
    let mut broken = events(&[text("Half an answer.")], "end_turn");
    broken.truncate(4);
    broken.push(json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }));
    let broken = Answer::sse(broken.iter().map(Value::to_string));
    let server = Server::script([broken, says("All of it.")]).await.unwrap();
    let runner = turnwright_core::runner(retrying(&server.url()))
        .build()
        .unwrap();
    let (handle, mut events) = runner.start("Go.").split();
    let (mut shown, mut discarded) = (String::new(), 0);
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::MessageDelta(delta) => shown.push_str(&delta.text),
            EventKind::Discarded { .. } => {
                shown.clear();
                discarded += 1;
            }
            _ => {}
        }
    }
    let outcome = handle.outcome().await;
    assert_eq!(
        (outcome.text.as_str(), shown.as_str()),
        ("All of it.", "All of it.")
    );
    assert_eq!((discarded, server.requests().len()), (1, 2));
}

#[tokio::test]
async fn error_event_for_an_invalid_request_is_not_retried() {
    let cases = [
        ("invalid_request_error", ErrorKind::InvalidArguments, 1),
        ("authentication_error", ErrorKind::Denied, 1),
        ("rate_limit_error", ErrorKind::RateLimited, 4),
        ("api_error", ErrorKind::Unavailable, 4),
    ];
    for (kind, expected, attempts) in cases {
        let error =
            json!({ "type": "error", "error": { "type": kind, "message": "No." } }).to_string();
        let answers = (0..5).map(|_| Answer::event_stream().step(frame(&error)));
        let server = Server::script(answers).await.unwrap();
        let runner = turnwright_core::runner(retrying(&server.url()))
            .build()
            .unwrap();
        let outcome = runner.run("Go.").await;
        let error = outcome.error().unwrap();
        assert_eq!(
            (error.code(), error.kind()),
            (ErrorCode::MODEL_SERVER_ERROR, expected),
            "{kind}"
        );
        assert_eq!(server.requests().len(), attempts, "{kind}");
    }
}

#[tokio::test]
async fn calls_that_were_cut_off_are_not_executed() {
    for reason in [
        "max_tokens",
        "model_context_window_exceeded",
        "refusal",
        "something_new",
    ] {
        let calls = [call("toolu_1", "echo", json!({ "x": 1 }))];
        let answers = (0..4).map(|_| stream(&calls, reason));
        let server = Server::script(answers).await.unwrap();
        let runs = Arc::default();
        let runner = turnwright_core::runner(retrying(&server.url()))
            .tool(echo(&runs))
            .build()
            .unwrap();
        let outcome = runner.run("Go.").await;
        assert!(outcome.error().is_some(), "{reason}");
        assert_eq!(runs.load(Ordering::SeqCst), 0, "{reason}");
    }
}

#[tokio::test]
async fn stream_that_breaks_off_after_a_call_is_not_executed() {
    let mut broken = events(&[call("toolu_1", "echo", json!({ "x": 1 }))], "tool_use");
    broken.truncate(broken.len() - 2);
    let answers = (0..5).map(|_| Answer::sse(broken.iter().map(Value::to_string)));
    let server = Server::script(answers).await.unwrap();
    let runs = Arc::default();
    let runner = turnwright_core::runner(retrying(&server.url()))
        .tool(echo(&runs))
        .build()
        .unwrap();
    let outcome = runner.run("Go.").await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::MODEL_RESPONSE_INCOMPLETE
    );
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn refusal_is_reported_with_its_explanation() {
    let body = json!({ "type": "message", "content": [], "stop_reason": "refusal", "stop_details": { "type": "refusal", "explanation": "I cannot help with that." } });
    let server = Server::script([Answer::json(200, body)]).await.unwrap();
    let runner = turnwright_core::runner(retrying(&server.url()))
        .build()
        .unwrap();
    let outcome = runner.run("Go.").await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::MODEL_DECLINED);
    let last = outcome.messages().last().unwrap();
    assert_eq!(last.text(), "I cannot help with that.");
}

#[tokio::test]
async fn keys_never_appear_in_errors() {
    let error = json!({ "type": "error", "error": { "type": "authentication_error", "message": "invalid x-api-key: sk-ant-secret-1234" } });
    let server = Server::script([Answer::json(401, error)]).await.unwrap();
    let model = retrying(&server.url());
    assert!(!format!("{model:?}").contains("secret-1234"));
    let outcome = turnwright_core::runner(model)
        .build()
        .unwrap()
        .run("Go.")
        .await;
    let error = outcome.error().unwrap();
    let message = error.with_causes();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(
        !message.contains("secret-1234") && message.contains("ANTHROPIC_API_KEY"),
        "{message}"
    );
}

#[tokio::test]
async fn rejected_parameters_are_left_out_after_the_first_error() {
    let error = |message: &str| {
        let error = json!({ "type": "invalid_request_error", "message": message });
        Answer::json(400, json!({ "type": "error", "error": error }))
    };
    let server = Server::script([
        error("`temperature` is deprecated for this model."),
        says("Done."),
        says("Done."),
    ])
    .await
    .unwrap();
    let model = builder(&server.url())
        .settings(ModelSettings::new().temperature(0.5))
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    for _ in 0..2 {
        assert_eq!(runner.run("Go.").await.text, "Done.");
    }
    let temperatures: Vec<bool> = server
        .requests()
        .iter()
        .map(|request| request.json().unwrap().get("temperature").is_some())
        .collect();
    assert_eq!(temperatures, [true, false, false]);
}

#[tokio::test]
async fn prompt_that_is_too_long_is_a_context_error() {
    let error = json!({ "type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum" });
    let body = json!({ "type": "error", "error": error });
    let server = Server::script([Answer::json(400, body)]).await.unwrap();
    let outcome = turnwright_core::runner(retrying(&server.url()))
        .build()
        .unwrap()
        .run("Go.")
        .await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::CONTEXT_WINDOW_EXCEEDED
    );
}

#[tokio::test]
async fn response_of_another_protocol_is_named() {
    let chunk = r#"{"choices":[{"delta":{"content":"Hi"}}]}"#;
    let message = json!({ "choices": [{ "message": { "content": "Hi" } }] });
    for answer in [Answer::sse([chunk]), Answer::json(200, message)] {
        let server = Server::script([answer]).await.unwrap();
        let outcome = turnwright_core::runner(retrying(&server.url()))
            .build()
            .unwrap()
            .run("Go.")
            .await;
        let error = outcome.error().unwrap().message().to_owned();
        assert!(
            error.contains("this looks like Chat Completions"),
            "{error}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}
