//! Retries.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::dispatch::FinishReason;
use turnwright_core::event::{Event, EventKind};
use turnwright_core::{DispatchContext, ErrorCode, ErrorKind, Message, Next, Tool, ToolContext};
use turnwright_models::retry::RetryPolicy;

use crate::script::{Answer, Script, says};

fn soon() -> RetryPolicy {
    RetryPolicy::new().first_wait(Duration::from_millis(1))
}

fn rejects(status: u16, message: &str) -> Answer {
    Answer::Status(status, vec![], json!({ "error": { "message": message } }))
}

#[tokio::test]
async fn only_transient_failures_are_retried() {
    let cases = [
        (408, 4, ErrorCode::MODEL_TIMEOUT, ErrorKind::Timeout),
        (
            429,
            4,
            ErrorCode::MODEL_SERVER_ERROR,
            ErrorKind::RateLimited,
        ),
        (
            500,
            4,
            ErrorCode::MODEL_SERVER_ERROR,
            ErrorKind::Unavailable,
        ),
        (
            503,
            4,
            ErrorCode::MODEL_SERVER_ERROR,
            ErrorKind::Unavailable,
        ),
        (302, 1, ErrorCode::MODEL_SERVER_ERROR, ErrorKind::NotFound),
        (
            400,
            1,
            ErrorCode::MODEL_SERVER_ERROR,
            ErrorKind::InvalidArguments,
        ),
        (401, 1, ErrorCode::MODEL_SERVER_ERROR, ErrorKind::Denied),
        (403, 1, ErrorCode::MODEL_SERVER_ERROR, ErrorKind::Denied),
        (404, 1, ErrorCode::MODEL_SERVER_ERROR, ErrorKind::NotFound),
    ];
    for (status, attempts, code, kind) in cases {
        let script = Script::new((0..6).map(|_| rejects(status, "No way.")));
        let model = script.builder().retry(soon()).build().unwrap();
        let runner = turnwright_core::runner(model).build().unwrap();
        let outcome = runner.run("Hello").await;
        let cause = outcome.error().unwrap();
        assert_eq!((cause.code(), cause.kind()), (code, kind), "{status}");
        assert!(
            cause.message().contains("No way.") && cause.message().contains(&status.to_string()),
            "{cause}"
        );
        assert_eq!(script.bodies().len(), attempts, "{status}");
    }
}

#[tokio::test]
async fn retried_failures_are_logged() {
    let script = Script::new([
        rejects(429, "Slow down."),
        rejects(500, "Oops."),
        says("Hello."),
    ]);
    let logs = Arc::new(Mutex::new(Vec::new()));
    let expected = Arc::clone(&logs);
    let runner = turnwright_core::runner(script.builder().retry(soon()).build().unwrap())
        .observer(move |event: &Event| {
            if let EventKind::Log { message, .. } = &event.kind {
                expected.lock().unwrap().push(message.clone());
            }
        })
        .build()
        .unwrap();
    assert_eq!(runner.run("Hello").await.into_answer().unwrap(), "Hello.");
    let expected = logs.lock().unwrap();
    assert_eq!(expected.len(), 2);
    assert!(
        expected[0].contains("attempt 1") && expected[0].contains("Slow down."),
        "{expected:?}"
    );
    let bodies = script.bodies();
    assert!(
        bodies.iter().all(|body| *body == bodies[0]),
        "the same request each time"
    );
}

#[tokio::test]
async fn too_long_retry_after_fails() {
    let script = Script::new([Answer::Status(
        429,
        vec![("retry-after", "3600")],
        json!({ "error": "later" }),
    )]);
    let runner = turnwright_core::runner(script.model()).build().unwrap();
    let error = runner
        .run("Hello")
        .await
        .status
        .error()
        .unwrap()
        .with_causes();
    assert!(
        error.contains("3600 seconds") && error.contains("longest_wait"),
        "{error}"
    );
    assert_eq!(script.bodies().len(), 1);
}

#[tokio::test]
async fn exhausted_quota_is_not_retried() {
    let script = Script::new([rejects(429, "insufficient_quota: check your plan")]);
    let runner = turnwright_core::runner(script.model()).build().unwrap();
    runner.run("Hello").await;
    assert_eq!(script.bodies().len(), 1);
}

#[tokio::test]
async fn output_streamed_before_a_retry_is_discarded() {
    let broken = Answer::Broken(vec![
        json!({ "delta": { "reasoning_content": "Let me thi" } }),
        json!({ "delta": { "content": "The answer is forty" } }),
        json!({ "delta": { "tool_calls": [{ "index": 0, "id": "c1", "function": { "name": "noop", "arguments": "{\"a\":" } }] } }),
    ]);
    let complete = Answer::Stream(vec![
        json!({ "delta": { "content": "Forty" } }),
        json!({ "delta": { "content": "-two." }, "finish_reason": "stop" }),
    ]);
    let ran = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ran);
    let noop = Tool::dynamic("noop", json!({ "type": "object" }))
        .description("Counts.")
        .handler(move |_: Value, _: ToolContext| {
            *count.lock().unwrap() += 1;
            async { "" }
        });
    let script = Script::new([broken, complete]);
    let runner = turnwright_core::runner(script.builder().retry(soon()).build().unwrap())
        .tool(noop.build())
        .build()
        .unwrap();
    let (handle, mut stream) = runner.start("What is it?").split();
    let mut texts: std::collections::HashMap<String, String> = std::collections::HashMap::new();
    let mut void = Vec::new();
    while let Some(event) = stream.next().await {
        match event.kind {
            EventKind::MessageDelta(delta)
            | EventKind::ThoughtDelta(delta)
            | EventKind::ToolCallDelta { delta, .. } => {
                let text = texts.entry(delta.id.to_string()).or_default();
                assert_eq!(text.len(), delta.offset, "pieces follow each other");
                text.push_str(&delta.text);
            }
            EventKind::Discarded { id } => {
                texts
                    .remove(&*id)
                    .expect("only streamed output is discarded");
                void.push(id);
            }
            _ => {}
        }
    }
    let outcome = handle.outcome().await;
    assert_eq!(outcome.text, "Forty-two.");
    assert_eq!(void.len(), 3, "the reasoning, the text, the call");
    assert_eq!(texts.into_values().collect::<Vec<_>>(), ["Forty-two."]);
    assert_eq!(
        (
            outcome.tool_calls().count(),
            outcome.thoughts().count(),
            *ran.lock().unwrap()
        ),
        (0, 0, 0)
    );
}

#[tokio::test]
async fn partial_output_of_the_last_attempt_is_kept() {
    let broken = || {
        Answer::Broken(vec![
            json!({ "delta": { "content": "I will look." } }),
            json!({ "delta": { "tool_calls": [{ "index": 0, "id": "c1", "function": { "name": "noop", "arguments": "{}" } }] } }),
        ])
    };
    let script = Script::new([broken(), broken()]);
    let model = script.builder().retry(soon().attempts(2)).build().unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let outcome = runner.run("Look.").await;
    assert!(
        outcome
            .status
            .error()
            .unwrap()
            .with_causes()
            .contains("after 2 attempts")
    );
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::MODEL_RESPONSE_INCOMPLETE);
    let calls: Vec<_> = outcome.tool_calls().collect();
    assert_eq!(calls.len(), 1, "one call, not one per attempt");
    assert!(!calls[0].is_complete());
    assert_eq!(outcome.messages().last().unwrap().text(), "I will look.");
}

#[tokio::test]
async fn stream_options_quirk_is_remembered() {
    let script = Script::new([
        rejects(422, "extra fields not permitted: stream_options"),
        says("One."),
        says("Two."),
    ]);
    let runner = turnwright_core::runner(script.model()).build().unwrap();
    assert_eq!(runner.run("One?").await.into_answer().unwrap(), "One.");
    assert_eq!(runner.run("Two?").await.into_answer().unwrap(), "Two.");
    let has: Vec<bool> = script
        .values()
        .iter()
        .map(|item| item.get("stream_options").is_some())
        .collect();
    assert_eq!(has, [true, false, false]);
}

#[tokio::test]
async fn keys_repeated_by_a_server_are_redacted() {
    let key = "sk-very-secret-key-123";
    let script = Script::new([
        rejects(401, &format!("Incorrect API key provided: {key}.")),
        Answer::Broken(vec![
            json!({ "error": { "message": format!("bad key {key}") } }),
        ]),
    ]);
    let model = script
        .builder()
        .api_key(key)
        .header("api-key", "another-secret")
        .retry(RetryPolicy::never())
        .build()
        .unwrap();
    assert!(!format!("{model:?}").contains("secret"), "{model:?}");
    let events = Arc::new(Mutex::new(String::new()));
    let expected = Arc::clone(&events);
    let runner = turnwright_core::runner(model)
        .observer(move |event: &Event| {
            let json = serde_json::to_string(event).unwrap();
            expected.lock().unwrap().push_str(&json);
        })
        .build()
        .unwrap();
    for _ in 0..2 {
        let error = runner.run("Hello").await.status.error().unwrap();
        let content = format!("{error} {error:?} {}", error.with_causes());
        assert!(
            content.contains("[secret]") && !content.contains(key),
            "{content}"
        );
    }
    assert!(!events.lock().unwrap().contains(key));
    let headers = script.headers(0);
    assert!(headers.contains(&("authorization".to_owned(), format!("Bearer {key}"))));
    assert!(headers.contains(&("api-key".to_owned(), "another-secret".to_owned())));
}

#[tokio::test]
async fn strict_roles_quirk_is_remembered() {
    let noop = Tool::dynamic("noop", json!({ "type": "object" }))
        .description("Does nothing.")
        .handler(|_: Value, _: ToolContext| async { "done" });
    let refused = rejects(400, "Unexpected role 'user' after role 'tool'");
    let calls = || crate::script::calls([("noop", json!({}))]);
    let script = Script::new([calls(), refused, says("One."), calls(), says("Two.")]);
    let adds = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if ctx.iteration() == 2 {
            ctx.records().add(Message::user("And be quick.").build()?);
            ctx.records().add(Message::user("Please.").build()?);
        }
        next.run().await
    };
    let runner = turnwright_core::runner(script.model())
        .tool(noop.build())
        .dispatch_input(adds)
        .build()
        .unwrap();
    assert_eq!(runner.run("One?").await.into_answer().unwrap(), "One.");
    assert_eq!(runner.run("Two?").await.into_answer().unwrap(), "Two.");
    let values = script.values();
    let roles = |at: usize| {
        let messages = values[at]["messages"].as_array().unwrap().iter();
        messages
            .map(|item| item["role"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(roles(1), "system user assistant tool user user");
    assert_eq!(
        roles(2),
        "system user assistant tool assistant user assistant user"
    );
    assert_eq!(roles(4), roles(2));
}

#[tokio::test]
async fn error_codes_are_classified() {
    let too_long = json!({ "error": {
        "code": 400, "message": "request (6031 tokens) exceeds the available context size (4096 tokens)", "type": "exceed_context_size_error",
    }});
    let no_money = json!({ "error": {
        "code": "insufficient_quota", "message": "You exceeded your current quota.", "type": "insufficient_quota",
    }});
    for (status, body, code) in [
        (400, too_long, ErrorCode::CONTEXT_WINDOW_EXCEEDED),
        (429, no_money, ErrorCode::MODEL_SERVER_ERROR),
    ] {
        let script = Script::new([Answer::Status(status, vec![], body)]);
        let runner = turnwright_core::runner(script.model()).build().unwrap();
        let error = runner.run("Hello").await.into_answer().unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(script.bodies().len(), 1);
    }
}

#[tokio::test]
async fn keys_are_redacted_in_every_form() {
    let key = "sk-very-secret-key-123456789";
    let long = format!("{}{key}", "x".repeat(490));
    let says = |text: &str| rejects(400, text);
    let cases: [(&str, Answer); 8] = [
        ("masked", says("Incorrect key sk-very-secr***.")),
        (
            "cut off in the middle",
            says("key sk-very-secret-ke, really"),
        ),
        (
            // Base64 of "user:sk-very-secret-key-123456789".
            "as base64",
            says("got 'Basic dXNlcjpzay12ZXJ5LXNlY3JldC1rZXktMTIzNDU2Nzg5' instead"),
        ),
        (
            "as an unknown finish reason",
            Answer::Stream(vec![
                json!({ "delta": { "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{}" } }] } }),
                json!({ "delta": {}, "finish_reason": key }),
            ]),
        ),
        (
            "in the id",
            Answer::Status(
                400,
                vec![(
                    "x-request-id",
                    "sk-very-secret-key-123456789\u{9b}2J\u{202e}",
                )],
                json!({ "error": "no" }),
            ),
        ),
        (
            "where it is cut",
            Answer::Status(400, vec![], json!({ "error": { "message": long } })),
        ),
        (
            "in a stream",
            Answer::Broken(vec![json!({ "error": { "message": long } })]),
        ),
        (
            "in a page",
            Answer::Status(502, vec![], json!(format!("<html>{key}</html>"))),
        ),
    ];
    for (place, answer) in cases {
        let script = Script::new([answer.clone(), answer.clone(), answer]);
        let model = script
            .builder()
            .header("authorization", format!("Bearer {key}"))
            .retry(RetryPolicy::never())
            .build()
            .unwrap();
        let logs = Arc::new(Mutex::new(String::new()));
        let expected = Arc::clone(&logs);
        let runner = turnwright_core::runner(model)
            .observer(move |event: &Event| {
                let mut expected = expected.lock().unwrap();
                *expected += &format!("{:?}", event.kind);
            })
            .build()
            .unwrap();
        let error = runner.run("Hello").await.status.error().unwrap();
        let content = format!("{error} {error:?} {}", error.with_causes());
        let content = content + &*logs.lock().unwrap();
        assert!(content.contains("[secret]"), "{place}: {content}");
        for part in ["sk-very", "secret-k", "LXNlY3JldC1r"] {
            assert!(!content.contains(part), "{place}: {content}");
        }
        assert!(
            !content.contains(['\u{9b}', '\u{202e}']),
            "{place}: {content}"
        );
    }
    let script = Script::new([rejects(
        401,
        "user u-secret-1, password p w-secret, dS1zZWNyZXQtMTpwIHctc2VjcmV0, key q-secret-2",
    )]);
    let model = turnwright_models::ChatCompletions::builder(
        "http://u-secret-1:p%20w-secret@127.0.0.1:9/v1?key=q-secret-2",
    )
    .model("m")
    .transport(script)
    .build()
    .unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let content = runner
        .run("Hello")
        .await
        .status
        .error()
        .unwrap()
        .with_causes();
    assert!(
        !content.contains("secret-") && !content.contains("w-secret"),
        "{content}"
    );
}

#[tokio::test]
async fn error_that_quotes_the_user_is_not_a_quirk() {
    let quoted = || rejects(400, "Bad request: \"tell me about stream_options\"");
    let script = Script::new([quoted(), quoted(), says("Hello.")]);
    let runner = turnwright_core::runner(script.model()).build().unwrap();
    runner
        .run("Tell me about stream_options")
        .await
        .into_answer()
        .unwrap_err();
    runner.run("Hello").await.into_answer().unwrap();
    let asks: Vec<bool> = script
        .values()
        .iter()
        .map(|item| item.get("stream_options").is_some())
        .collect();
    assert_eq!(asks, [true, false, true]);
}

#[tokio::test]
async fn call_cancelled_by_the_server_is_not_run() {
    let ran = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ran);
    let noop = Tool::dynamic("noop", json!({ "type": "object" }))
        .description("Counts.")
        .handler(move |_: Value, _: ToolContext| {
            *count.lock().unwrap() += 1;
            async { "" }
        });
    let taken_back = Answer::Broken(vec![
        json!({ "delta": { "tool_calls": [{ "index": 0, "id": "c1", "function": { "name": "noop", "arguments": "{}" } }] } }),
        json!({ "delta": {}, "finish_reason": "tool_calls" }),
        json!({ "error": { "message": "Provider returned error", "code": 502 } }),
    ]);
    let script = Script::new([taken_back, says("Never mind.")]);
    let runner = turnwright_core::runner(script.builder().retry(soon()).build().unwrap())
        .tool(noop.build())
        .build()
        .unwrap();
    assert_eq!(
        runner.run("Go.").await.into_answer().unwrap(),
        "Never mind."
    );
    assert_eq!(*ran.lock().unwrap(), 0);
}

/// Returns two calls whose fragments alternate.
fn two_calls(first: &[&str; 2], second: &[&str; 2]) -> Vec<Value> {
    let begin = |index: u8, piece: &str| {
        let function = json!({ "name": "noop", "arguments": piece });
        json!({ "delta": { "tool_calls": [{ "index": index, "id": format!("c{index}"), "function": function }] } })
    };
    let more = |index: u8, piece: &str| {
        let function = json!({ "arguments": piece });
        json!({ "delta": { "tool_calls": [{ "index": index, "function": function }] } })
    };
    vec![
        begin(0, first[0]),
        begin(1, second[0]),
        more(0, first[1]),
        more(1, second[1]),
    ]
}

#[tokio::test]
async fn call_deltas_keep_their_id_across_a_retry() {
    let mut complete = two_calls(&["{\"n\":", "1}"], &["{\"n\":", "2}"]);
    complete.push(json!({ "delta": {}, "finish_reason": "tool_calls" }));
    let broken = Answer::Broken(two_calls(&["{\"x\"", ":"], &["{", "\"y\""]));
    let script = Script::new([broken, Answer::Stream(complete), says("Done.")]);
    let noop = Tool::dynamic("noop", json!({ "type": "object" }))
        .description("Does nothing.")
        .handler(|_: Value, _: ToolContext| async { "" });
    let runner = turnwright_core::runner(script.builder().retry(soon()).build().unwrap())
        .tool(noop.build())
        .build()
        .unwrap();
    let mut turn = runner.start("Go.");
    let mut texts: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    let (mut started, mut void, mut usages) = (Vec::new(), 0, Vec::new());
    while let Some(event) = turn.next().await {
        match event.kind {
            EventKind::ToolCallDelta { tool, delta } => {
                assert_eq!(&*tool, "noop");
                let text = texts.entry(delta.id.to_string()).or_default();
                assert_eq!(text.len(), delta.offset);
                text.push_str(&delta.text);
            }
            EventKind::Discarded { id } => {
                void += usize::from(texts.remove(&*id).is_some());
            }
            EventKind::ToolExecutionStart { id, .. } => started.push(id.to_string()),
            EventKind::Usage(usage) => usages.push(usage.finish_reason.clone().unwrap()),
            _ => {}
        }
    }
    let outcome = turn.await;
    assert_eq!((outcome.text.as_str(), void), ("Done.", 2));
    let calls: std::collections::BTreeMap<String, String> = outcome
        .tool_calls()
        .map(|call| (call.id().to_owned(), call.args().to_value().to_string()))
        .collect();
    assert_eq!(texts, calls, "the deltas use the ids of the records");
    started.sort_unstable();
    assert_eq!(started, calls.into_keys().collect::<Vec<_>>());
    assert_eq!(usages, [FinishReason::ToolCalls, FinishReason::Stop]);
}
