//! Turns against a server on loopback.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{
    Effects, ErrorCode, ErrorKind, EventKind, Media, Message, ModelSettings, Tool, ToolContext,
    ToolOutput, TurnInput,
};
use turnwright_models::responses::{Options, ResponsesCodec};
use turnwright_models::retry::RetryPolicy;
use turnwright_models::{ModelBuilder, Responses};
use turnwright_testkit::server::{Answer, Server, Step};

const KEY: &str = "sk-very-secret-key";

fn builder(server: &Server) -> ModelBuilder<ResponsesCodec> {
    Responses::builder(format!("{}/v1", server.url()))
        .api_key(KEY)
        .model("gpt-5")
        .explain_envelopes(false)
        .retry(RetryPolicy::new().first_wait(Duration::from_millis(1)))
}

fn stream(events: &[Value]) -> Answer {
    Answer::sse(events.iter().map(Value::to_string))
}

fn done(index: u64, item: Value) -> Value {
    let mut event = json!({ "type": "response.output_item.done", "output_index": index });
    event["item"] = item;
    event
}

fn completed(id: &str) -> Value {
    let usage = json!({ "input_tokens": 9, "output_tokens": 4 });
    let response = json!({ "id": id, "status": "completed", "output": [], "usage": usage });
    json!({ "type": "response.completed", "response": response })
}

fn reasoning() -> Value {
    json!({
        "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "Hm." }],
        "encrypted_content": "c2VjcmV0", "status": "completed",
    })
}

fn call(number: u64) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
        "name": "weather", "arguments": "{\"city\":\"Rome\"}", "status": "completed",
    })
}

fn message(id: &str, text: &str) -> Value {
    json!({
        "type": "message", "id": id, "role": "assistant", "status": "completed", "phase": "final_answer",
        "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }],
    })
}

/// Reasoning and two calls.
fn calls_tools(id: &str) -> Answer {
    let added =
        json!({ "type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "" });
    stream(&[
        json!({ "type": "response.created", "response": { "id": id, "status": "in_progress" } }),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm" }),
        done(0, reasoning()),
        json!({ "type": "response.output_item.added", "output_index": 1, "item": added }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"city\":" }),
        done(1, call(1)),
        done(2, call(2)),
        completed(id),
    ])
}

fn says(id: &str, text: &str) -> Answer {
    let delta = json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text });
    stream(&[delta, done(0, message("msg_1", text)), completed(id)])
}

fn weather(calls: &Arc<AtomicUsize>) -> Tool {
    let calls = Arc::clone(calls);
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    Tool::dynamic("weather", schema)
        .description("Returns the weather.")
        .effects(Effects::ReadOnly)
        .handler(move |_: Value, _: ToolContext| {
            calls.fetch_add(1, Ordering::SeqCst);
            async { "Sunny" }
        })
        .build()
        .unwrap()
}

fn bodies(server: &Server) -> Vec<Value> {
    server
        .requests()
        .iter()
        .map(|request| request.json().unwrap())
        .collect()
}

#[tokio::test]
async fn calls_and_reasoning_go_back_in_the_next_request() {
    let server = Server::script([calls_tools("resp_1"), says("resp_2", "It is sunny.")])
        .await
        .unwrap();
    let calls = Arc::default();
    let runner = turnwright_core::runner(builder(&server).build().unwrap())
        .instructions("Be brief.")
        .tool(weather(&calls))
        .build()
        .unwrap();
    let outcome = runner.run("Is it sunny?").await;
    assert_eq!(outcome.text, "It is sunny.");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert_eq!(outcome.thoughts().next().unwrap().text(), "Hm.");
    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/responses");
    assert_eq!(
        requests[0].header("authorization").unwrap(),
        format!("Bearer {KEY}")
    );
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let first = json!({
        "model": "gpt-5", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
        "tools": [{ "type": "function", "name": "weather", "description": "Returns the weather.", "parameters": schema, "strict": false }],
        "input": [
            { "type": "message", "role": "system", "content": "Be brief." },
            { "type": "message", "role": "user", "content": "Is it sunny?" },
        ],
    });
    let bodies = bodies(&server);
    assert_eq!(bodies[0], first);
    let input = bodies[1]["input"].as_array().unwrap();
    let call = |number: u64| {
        json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "name": "weather", "arguments": "{\"city\":\"Rome\"}",
        })
    };
    let thought = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "c2VjcmV0",
        "summary": [{ "type": "summary_text", "text": "Hm." }],
    });
    assert_eq!(input[2..5], [thought, call(1), call(2)]);
    for (output, number) in input[5..].iter().zip(1..) {
        assert_eq!(output["type"], "function_call_output");
        assert_eq!(output["call_id"], format!("call_{number}"));
        assert!(output["output"].as_str().unwrap().contains("Sunny"));
    }
    assert_eq!(input.len(), 7);
    // The prefix does not change.
    let text = |at: usize| String::from_utf8(requests[at].body.to_vec()).unwrap();
    let start = text(0);
    assert!(text(1).starts_with(start.strip_suffix("]}").unwrap()));
}

#[tokio::test]
async fn stored_responses_are_referred_to() {
    let server = Server::script([calls_tools("resp_1"), says("resp_2", "It is sunny.")])
        .await
        .unwrap();
    let calls = Arc::default();
    let model = builder(&server)
        .use_previous_response_id(true)
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .instructions("Be brief.")
        .tool(weather(&calls))
        .build()
        .unwrap();
    assert_eq!(runner.run("Is it sunny?").await.text, "It is sunny.");
    let bodies = bodies(&server);
    assert_eq!(bodies[0]["store"], true);
    assert_eq!(bodies[0].get("previous_response_id"), None);
    assert_eq!(bodies[0]["input"].as_array().unwrap().len(), 2);
    assert_eq!(bodies[1]["previous_response_id"], "resp_1");
    assert_eq!(bodies[1]["instructions"], "Be brief.");
    let input = bodies[1]["input"].as_array().unwrap();
    let kinds: Vec<&Value> = input.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["function_call_output", "function_call_output"]);
}

#[tokio::test]
async fn the_conversation_is_repeated_if_the_server_has_lost_it() {
    let lost = json!({ "error": {
        "message": "Previous response with id 'resp_1' not found.", "type": "invalid_request_error",
        "param": "previous_response_id", "code": "previous_response_not_found",
    } });
    let server = Server::script([
        calls_tools("resp_1"),
        Answer::json(400, lost),
        says("resp_2", "It is sunny."),
    ])
    .await
    .unwrap();
    let calls = Arc::default();
    let model = builder(&server)
        .use_previous_response_id(true)
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .tool(weather(&calls))
        .build()
        .unwrap();
    assert_eq!(runner.run("Is it sunny?").await.text, "It is sunny.");
    let bodies = bodies(&server);
    assert_eq!(bodies[2].get("previous_response_id"), None);
    assert_eq!(bodies[2]["input"].as_array().unwrap().len(), 6);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn models_without_encrypted_reasoning_are_asked_without_it() {
    let error = json!({ "error": { "message": "Encrypted content is not supported with this model.", "param": "include" } });
    let server = Server::script([Answer::json(400, error), says("r", "Hi."), says("r", "Hi.")])
        .await
        .unwrap();
    let model = builder(&server).build().unwrap();
    let runner = turnwright_core::runner(model.clone()).build().unwrap();
    assert_eq!(runner.run("Hello").await.text, "Hi.");
    let old = model.with_model("gpt-4o");
    let runner = turnwright_core::runner(old).build().unwrap();
    assert_eq!(runner.run("Hello").await.text, "Hi.");
    let included: Vec<bool> = bodies(&server)
        .iter()
        .map(|body| body.get("include").is_some())
        .collect();
    assert_eq!(included, [true, false, false]);
}

#[tokio::test]
async fn failed_attempts_are_retried_and_retracted() {
    let partial =
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Wrong" });
    let failed = json!({ "type": "response.failed", "response": {
        "status": "failed", "error": { "code": "server_error", "message": "The model failed." },
    } });
    let error = json!({ "type": "error", "code": "rate_limit_exceeded", "message": "Too fast." });
    let broken = stream(std::slice::from_ref(&partial)).step(Step::Close);
    let server = Server::script([
        Answer::json(429, json!({ "error": { "message": "Too many." } })),
        Answer::json(503, json!({ "error": { "message": "Busy." } })),
        stream(&[partial.clone(), failed]),
        stream(&[partial.clone(), error]),
        broken,
        says("r", "Right."),
    ])
    .await
    .unwrap();
    let retry = RetryPolicy::new()
        .first_wait(Duration::from_millis(1))
        .attempts(6);
    let runner = turnwright_core::runner(builder(&server).retry(retry).build().unwrap())
        .build()
        .unwrap();
    let (handle, mut events) = runner.start("Go.").split();
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    let mut discarded = 0;
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::MessageDelta(delta) => {
                shown
                    .entry(delta.id.to_string())
                    .or_default()
                    .push_str(&delta.text);
            }
            EventKind::Discarded { id } => {
                shown.remove(&*id).unwrap();
                discarded += 1;
            }
            _ => {}
        }
    }
    assert_eq!(handle.outcome().await.text, "Right.");
    assert_eq!(shown.into_values().collect::<Vec<_>>(), ["Right."]);
    assert_eq!(discarded, 3);
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn errors_that_stay_are_not_retried() {
    let failed = |code: &str| {
        json!({ "type": "response.failed", "response": {
        "status": "failed", "error": { "code": code, "message": "No." },
    } })
    };
    let cases = [
        (
            stream(&[failed("invalid_prompt")]),
            ErrorCode::MODEL_SERVER_ERROR,
            ErrorKind::Internal,
        ),
        (
            stream(&[failed("context_length_exceeded")]),
            ErrorCode::CONTEXT_WINDOW_EXCEEDED,
            ErrorKind::InvalidArguments,
        ),
        (
            Answer::json(
                400,
                json!({ "code": "invalid-argument", "error": format!("Incorrect API key provided: {KEY}") }),
            ),
            ErrorCode::MODEL_SERVER_ERROR,
            ErrorKind::InvalidArguments,
        ),
        (
            Answer::json(
                200,
                json!({ "choices": [{ "message": { "content": "Hi." } }] }),
            ),
            ErrorCode::WIRE_ERROR,
            ErrorKind::NotFound,
        ),
    ];
    for (answer, code, kind) in cases {
        let server = Server::script([answer]).await.unwrap();
        let runner = turnwright_core::runner(builder(&server).build().unwrap())
            .build()
            .unwrap();
        let error = runner.run("Go.").await.into_answer().unwrap_err();
        assert_eq!((error.code(), error.kind()), (code, kind), "{error}");
        assert!(!format!("{error:?} {error}").contains(KEY));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn calls_of_incomplete_responses_are_never_executed() {
    let cut = json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
        "arguments": "{\"city\":\"Ro", "status": "incomplete",
    });
    let details = json!({ "reason": "max_output_tokens" });
    let incomplete = json!({ "type": "response.incomplete", "response": {
        "status": "incomplete", "incomplete_details": details, "output": [cut],
    } });
    // A complete call is not executed either.
    let server = Server::script([
        stream(&[done(0, call(1)), incomplete.clone()]),
        stream(&[done(0, cut.clone()), incomplete]),
        stream(&[done(0, cut.clone()), completed("r")]),
        says("r", "I give up."),
    ])
    .await
    .unwrap();
    let calls = Arc::default();
    let runner = turnwright_core::runner(builder(&server).build().unwrap())
        .tool(weather(&calls))
        .build()
        .unwrap();
    let outcome = runner.run("Is it sunny?").await;
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    let error = outcome.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::MODEL_RESPONSE_INCOMPLETE);
    // Incomplete items go back without their ids.
    let bodies = bodies(&server);
    let items = bodies[2]["input"].as_array().unwrap();
    let sent: Vec<&Value> = items
        .iter()
        .filter(|item| item["type"] == "function_call")
        .collect();
    assert_eq!(sent[1].get("id"), None);
    assert_eq!(
        sent[1]["arguments"],
        json!({ "malformed_arguments": "{\"city\":\"Ro" }).to_string()
    );
}

#[tokio::test]
async fn refusals_end_the_turn_as_declined() {
    let refusal = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [
        { "type": "refusal", "refusal": "I cannot help with that." },
    ] });
    let server = Server::script([stream(&[done(0, refusal), completed("r")])])
        .await
        .unwrap();
    let runner = turnwright_core::runner(builder(&server).build().unwrap())
        .build()
        .unwrap();
    let error = runner.run("Go.").await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::MODEL_DECLINED);
}

#[tokio::test]
async fn media_of_messages_and_results_is_sent_in_place() {
    let image = || {
        let bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        Media::user_attachment(
            MediaKind::Image,
            "image/png",
            "a.png",
            MemoryReader::new(bytes),
        )
        .build()
        .unwrap()
    };
    let camera = Tool::dynamic("weather", json!({ "type": "object" }))
        .description("Returns a picture.")
        .effects(Effects::ReadOnly)
        .handler(move |_: Value, _: ToolContext| async move { ToolOutput::media([image()]) })
        .build()
        .unwrap();
    let server = Server::script([calls_tools("r"), says("r", "Nice.")])
        .await
        .unwrap();
    let runner = turnwright_core::runner(builder(&server).build().unwrap())
        .tool(camera)
        .build()
        .unwrap();
    let message = Message::user("What is this?")
        .media(image())
        .build()
        .unwrap();
    assert_eq!(runner.run(TurnInput::from(message)).await.text, "Nice.");
    let bodies = bodies(&server);
    let part = json!({ "type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo=" });
    let asked = bodies[0]["input"][0]["content"].as_array().unwrap();
    assert!(asked.contains(&part), "{asked:?}");
    let outputs = bodies[1]["input"].as_array().unwrap();
    let outputs = outputs
        .iter()
        .filter(|item| item["type"] == "function_call_output");
    for output in outputs {
        assert!(
            output["output"].as_array().unwrap().contains(&part),
            "{output}"
        );
    }
}

#[tokio::test]
async fn whole_bodies_work_like_streams() {
    let body = |output: Value| {
        let usage = json!({ "input_tokens": 3, "output_tokens": 2 });
        Answer::json(
            200,
            json!({ "id": "r", "status": "completed", "output": output, "usage": usage }),
        )
    };
    let server = Server::script([
        body(json!([reasoning(), call(1)])),
        body(json!([message("msg_1", "It is sunny.")])),
    ])
    .await
    .unwrap();
    let calls = Arc::default();
    let model = builder(&server)
        .options(Options::new().stream(false))
        .settings(ModelSettings::new().seed(7))
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .tool(weather(&calls))
        .build()
        .unwrap();
    let outcome = runner.run("Is it sunny?").await;
    assert_eq!(outcome.text, "It is sunny.");
    let bodies = bodies(&server);
    assert_eq!(bodies[0].get("stream"), None);
    assert_eq!(bodies[0].get("seed"), None);
    assert_eq!(bodies[1]["input"][1]["id"], "rs_1");
}
