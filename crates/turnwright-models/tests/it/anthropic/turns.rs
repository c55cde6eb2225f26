//! Turns against a server on the loopback interface.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnwright_core::event::{Event, EventKind};
use turnwright_core::media::MediaKind;
use turnwright_core::record::Record;
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::settings::ToolChoice;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{
    Media, Message, ModelSettings, Next, Tool, ToolCall, ToolContext, ToolError, TurnContext,
    TurnInput,
};
use turnwright_models::TypedAnswers;
use turnwright_models::anthropic::Options;
use turnwright_testkit::server::{Answer, Server};

use super::{builder, events, stream};

pub(super) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(super) fn says(answer: &str) -> Answer {
    stream(&[text(answer)], "end_turn")
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
pub(super) fn call(id: &str, name: &str, input: Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

pub(super) fn echo(runs: &Arc<AtomicUsize>) -> Tool {
    let runs = Arc::clone(runs);
    Tool::dynamic("echo", json!({ "type": "object" }))
        .description("Returns its input.")
        .handler(move |args: Value, _: ToolContext| {
            runs.fetch_add(1, Ordering::SeqCst);
            async move { args.to_string() }
        })
        .build()
        .unwrap()
}

fn thinking() -> Options {
    Options::new().thinking(json!({ "type": "enabled", "budget_tokens": 2048 }))
}

/// Collects the messages of warning events.
pub(super) fn warning(runner: TurnRunnerBuilder) -> (TurnRunnerBuilder, Arc<Mutex<Vec<String>>>) {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&warnings);
    let runner = runner.observer(move |event: &Event| {
        if let EventKind::Warning { message, .. } = &event.kind {
            heard.lock().unwrap().push(message.clone());
        }
    });
    (runner, warnings)
}

#[tokio::test]
async fn response_with_thinking_and_calls_is_sent_back_unchanged_with_all_results() {
    let blocks = [
        json!({ "type": "thinking", "thinking": "Two <tw-things>.", "signature": "c2lnbmVk" }),
        json!({ "type": "redacted_thinking", "data": "eHh4" }),
        json!({ "type": "thinking", "thinking": "", "signature": "ZW1wdHk=" }),
        text("I will ask."),
        call("toolu_1", "echo", json!({})),
        call("toolu_2", "echo", json!({ "x": [1, "ü"] })),
    ];
    let server = Server::script([stream(&blocks, "tool_use"), says("Done.")])
        .await
        .unwrap();
    let model = builder(&server.url()).options(thinking()).build().unwrap();
    let runs = Arc::default();
    let (runner, warnings) = warning(turnwright_core::runner(model).tool(echo(&runs)));
    let outcome = runner.build().unwrap().run("Go.").await;
    assert_eq!(outcome.text, "Done.");
    assert_eq!(outcome.usage.input_tokens, 20);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(requests[0].header("x-api-key"), Some("sk-ant-secret-1234"));
    assert_eq!(requests[0].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(requests[0].header("authorization"), None);
    let body = requests[1].json().unwrap();
    assert_eq!(
        body["thinking"],
        json!({ "type": "enabled", "budget_tokens": 2048 })
    );
    assert_eq!(
        body["messages"][1],
        json!({ "role": "assistant", "content": blocks })
    );
    let results = &body["messages"][2];
    assert_eq!(results["role"], "user");
    let ids: Vec<&Value> = results["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["tool_use_id"])
        .collect();
    assert_eq!(ids, ["toolu_1", "toolu_2"]);
    assert!(
        results["content"]
            .as_array()
            .unwrap()
            .iter()
            .all(|block| block["type"] == "tool_result" && block.get("is_error").is_none())
    );
    // The bytes of the response, with its blocks in their order.
    let written = String::from_utf8(requests[1].body.to_vec()).unwrap();
    let expected = concat!(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Two <tw-things>.","signature":"c2lnbmVk"},"#,
        r#"{"type":"redacted_thinking","data":"eHh4"},{"type":"thinking","thinking":"","signature":"ZW1wdHk="},"#,
        r#"{"type":"text","text":"I will ask."},{"type":"tool_use","id":"toolu_1","name":"echo","input":{}},"#,
        r#"{"type":"tool_use","id":"toolu_2","name":"echo","input":{"x":[1,"ü"]}}]}"#
    );
    assert!(written.contains(expected), "{written}");
    assert_eq!(*warnings.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn failed_results_are_marked_and_media_is_part_of_a_result() {
    let picture = Tool::dynamic("picture", json!({ "type": "object" }))
        .description("Draws.")
        .handler(|_: Value, _: ToolContext| async {
            let bytes = MemoryReader::new("abc");
            Media::tool_generated(MediaKind::Image, "image/png", "p.png", bytes)
                .build()
                .unwrap()
        })
        .build()
        .unwrap();
    let broken = Tool::dynamic("broken", json!({ "type": "object" }))
        .description("Fails.")
        .handler(|_: Value, _: ToolContext| async {
            Err::<String, _>(ToolError::internal("too slow"))
        })
        .build()
        .unwrap();
    let calls = [
        call("toolu_1", "picture", json!({})),
        call("toolu_2", "broken", json!({})),
    ];
    let server = Server::script([stream(&calls, "tool_use"), says("Done.")])
        .await
        .unwrap();
    let model = builder(&server.url())
        .options(Options::new().prompt_caching(false))
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .tools([picture, broken])
        .build()
        .unwrap();
    let pdf = Media::user_attachment(
        MediaKind::Document,
        "application/pdf",
        "a.pdf",
        MemoryReader::new("pdf"),
    )
    .build()
    .unwrap();
    assert_eq!(
        runner.run(TurnInput::new("Go.").media(pdf)).await.text,
        "Done."
    );
    let body = server.requests()[1].json().unwrap();
    let source =
        |mime: &str, data: &str| json!({ "type": "base64", "media_type": mime, "data": data });
    let parts = body["messages"][0]["content"].as_array().unwrap();
    assert_eq!(
        parts[2],
        json!({ "type": "document", "source": source("application/pdf", "cGRm") })
    );
    let results = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    assert_eq!((results.len(), results[0].get("is_error")), (2, None));
    let image = results[0]["content"].as_array().unwrap().last().unwrap();
    assert_eq!(
        *image,
        json!({ "type": "image", "source": source("image/png", "YWJj") })
    );
    assert_eq!(results[1]["is_error"], true);
}

#[tokio::test]
async fn paused_response_is_continued_with_its_blocks_and_its_container() {
    let blocks = [
        text("Searching."),
        json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "x" } }),
        json!({ "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{ "type": "web_search_result", "encrypted_content": "ZW5j" }] }),
    ];
    let mut paused = events(&blocks, "pause_turn");
    let last = paused.len() - 2;
    paused[last]["delta"]["container"] =
        json!({ "id": "container_1", "expires_at": "2026-01-01T00:00:00Z" });
    let paused = Answer::sse(paused.iter().map(Value::to_string));
    let cited = json!({ "type": "text", "text": "Found.", "citations": [{ "type": "web_search_result_location", "encrypted_index": "aW5k" }] });
    let found = json!({ "type": "message", "content": [cited], "stop_reason": "end_turn" });
    let server = Server::script([paused, Answer::json(200, found), says("Yes.")])
        .await
        .unwrap();
    let search = json!({ "type": "web_search_20250305", "name": "web_search" });
    let options = Options::new().provider_tool(search).unwrap();
    let model = builder(&server.url()).options(options).build().unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let outcome = runner.run("Find it.").await;
    assert_eq!(outcome.text, "Found.");
    let body = server.requests()[1].json().unwrap();
    assert_eq!(
        body["messages"][1],
        json!({ "role": "assistant", "content": blocks })
    );
    assert_eq!(
        (
            &body["messages"].as_array().unwrap().len(),
            &body["container"]
        ),
        (&2, &json!("container_1"))
    );
    // The next turn repeats both responses; the container is no longer needed.
    let history = outcome.records;
    let model = builder(&server.url()).build().unwrap();
    let runner = turnwright_core::runner(model)
        .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
            ctx.records().hydrate(history.clone());
            async move { next.run().await }
        })
        .build()
        .unwrap();
    assert_eq!(runner.run("Sure?").await.text, "Yes.");
    let body = server.requests()[2].json().unwrap();
    assert_eq!(body["messages"][2]["content"], json!([cited]));
    assert_eq!(body.get("container"), None);
}

#[tokio::test]
async fn open_calls_of_another_server_are_sent_without_thinking() {
    let server = Server::script([says("Done."), says("Done.")])
        .await
        .unwrap();
    let records = vec![
        Record::Message(Message::user("Go.").build().unwrap()),
        Record::ToolCall(ToolCall::builder("echo", json!({})).build().unwrap()),
    ];
    for adaptive in [false, true] {
        let options = if adaptive {
            Options::new().thinking(json!({ "type": "adaptive" }))
        } else {
            thinking()
        };
        let model = builder(&server.url()).options(options).build().unwrap();
        let history = records.clone();
        let (runner, warnings) = warning(turnwright_core::runner(model));
        let runner = runner.turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
            ctx.records().hydrate(history.clone());
            async move { next.run().await }
        });
        assert_eq!(
            runner.build().unwrap().run(TurnInput::empty()).await.text,
            "Done."
        );
        let warnings = warnings.lock().unwrap();
        assert!(
            warnings.len() == 1 && warnings[0].contains("no thinking"),
            "{warnings:?}"
        );
    }
    for request in server.requests() {
        let body = request.json().unwrap();
        assert_eq!(body.get("thinking"), None);
        assert_eq!(body["messages"][1]["content"][0]["type"], "tool_use");
    }
}

#[tokio::test]
async fn schema_of_a_typed_answer_is_sent_on_request() {
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct City {
        name: String,
    }
    let answer = r#"{"name":"Paris"}"#;
    let server = Server::script([says(answer), says(answer)]).await.unwrap();
    for how in [TypedAnswers::Prompt, TypedAnswers::JsonSchema] {
        let model = builder(&server.url()).typed_answers(how).build().unwrap();
        let runner = turnwright_core::runner(model).build().unwrap();
        let city = runner.ask::<City>("Which city?").await.unwrap();
        assert_eq!(city.name, "Paris");
    }
    let bodies: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json().unwrap())
        .collect();
    let is_in_prompt = |body: &Value| body["system"].to_string().contains("JSON Schema");
    assert!(is_in_prompt(&bodies[0]) && bodies[0].get("output_config").is_none());
    assert!(!is_in_prompt(&bodies[1]));
    let format = &bodies[1]["output_config"]["format"];
    assert_eq!(
        (&format["type"], &format["schema"]["additionalProperties"]),
        (&json!("json_schema"), &json!(false))
    );
}

#[tokio::test]
async fn forced_calls_are_not_combined_with_thinking() {
    let server = Server::script([says("Done.")]).await.unwrap();
    let settings = ModelSettings::new()
        .temperature(0.2)
        .tool_choice(ToolChoice::Required);
    let model = builder(&server.url())
        .options(thinking())
        .settings(settings)
        .build()
        .unwrap();
    let (runner, warnings) = warning(turnwright_core::runner(model).tool(echo(&Arc::default())));
    assert_eq!(runner.build().unwrap().run("Go.").await.text, "Done.");
    let body = server.requests()[0].json().unwrap();
    assert_eq!(
        (&body["tool_choice"], body.get("temperature")),
        (&json!({ "type": "auto" }), None)
    );
    let warnings = warnings.lock().unwrap().join("\n");
    assert!(
        warnings.contains("tool choice") && warnings.contains("`temperature`"),
        "{warnings}"
    );
}
