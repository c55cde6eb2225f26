//! How a response ended: its calls run only if it is known to be complete.

use serde_json::{Value, json};
use turnwright_core::record::ToolResults;
use turnwright_core::{ErrorCode, EventKind, TurnInput, TurnStatus};
use turnwright_models::ChatCompletions;
use turnwright_models::retry::RetryPolicy;
use turnwright_testkit::server::{self, Server, Step};

use crate::calls::{logging, recording_tool, run};
use crate::script::{Answer, Script, calls_of, says};

#[tokio::test]
async fn calls_of_a_truncated_response_are_recorded_but_not_run() {
    let tokens = "it reached the token limit";
    for (reason, why) in [
        ("length", tokens),
        ("model_length", tokens),
        ("MAX_TOKENS", tokens),
        ("content_filter", "the provider's content filter stopped it"),
        ("error", "the provider failed"),
        ("abort", "the provider failed"),
    ] {
        let (tool, received) = recording_tool();
        // The first looks complete, and is not run either.
        let cut = [
            ("note", r#"{"n": 1}"#.to_owned()),
            ("note", r#"{"n": "#.to_owned()),
        ];
        let script = Script::new([calls_of(reason, cut), says("Sorry.")]);
        let outcome = run(&script, tool).await;
        assert_eq!(outcome.text, "Sorry.", "{reason}");
        assert!(received.lock().unwrap().is_empty());
        let records: Vec<_> = outcome.tool_calls().collect();
        assert_eq!(records.len(), 2);
        for record in records {
            assert!(!record.is_complete());
            assert!(matches!(record.results(), ToolResults::Nothing));
            assert!(record.id().len() <= 12);
        }
        let second = &script.values()[1];
        let messages = second["messages"].as_array().unwrap();
        let [assistant, one, two] = &messages[2..] else {
            panic!("{second}")
        };
        assert_eq!(assistant["tool_calls"].as_array().unwrap().len(), 2);
        assert_eq!(
            assistant["tool_calls"][0]["function"]["arguments"],
            r#"{"n": 1}"#
        );
        let arguments = assistant["tool_calls"][1]["function"]["arguments"]
            .as_str()
            .unwrap();
        let read: Value = serde_json::from_str(arguments).expect("servers parse arguments again");
        assert_eq!(read, json!({ "malformed_arguments": r#"{"n": "# }));
        for expected in [one, two] {
            assert_eq!(expected["role"], "tool");
            let text = expected["content"].as_str().unwrap();
            assert_eq!(
                text,
                format!(
                    "Your response was cut off ({why}), so this tool was not run. If you still need it, call it again in a shorter response."
                )
            );
        }
    }
}

#[tokio::test]
async fn calls_run_only_for_known_finish_reasons() {
    let reasons = [
        (json!("stop"), true),
        (json!("tool_calls"), true),
        (json!("function_call"), true),
        (json!("tool_use"), true),
        (json!(" length "), false),
        (json!(" "), false),
        (json!(1), false),
        (json!(" tool_calls"), false),
        (json!("content_filtered"), false),
        (json!("guardrail_intervened"), false),
        (json!("server_error"), false),
        (json!("something_new"), false),
    ];
    for (reason, runs) in reasons {
        let (tool, received) = recording_tool();
        let piece = json!({ "index": 0, "id": "a", "function": { "name": "note", "arguments": "{\"n\": 1}" } });
        let script = Script::new([
            Answer::Stream(vec![
                json!({ "delta": { "tool_calls": [piece] } }),
                json!({ "delta": {}, "finish_reason": reason }),
            ]),
            says("Done."),
        ]);
        let (note, logs) = logging();
        let runner = turnwright_core::runner(script.model())
            .tool(tool)
            .observer(note)
            .build()
            .unwrap();
        let mut turn = runner.start("Go.");
        let mut heard = Vec::new();
        while let Some(event) = turn.next().await {
            match event.kind {
                EventKind::ToolCall(call) => {
                    assert!(call.is_complete() && !call.is_error());
                    heard.push("complete");
                }
                EventKind::ToolCallIncomplete(call) => {
                    assert!(call.is_cut_off() && call.is_error() && !call.is_complete());
                    heard.push("incomplete");
                }
                EventKind::ToolExecutionStart { .. } => heard.push("started"),
                _ => {}
            }
        }
        assert_eq!(turn.await.text, "Done.", "{reason}");
        let logs = logs.lock().unwrap();
        if runs {
            assert_eq!(*received.lock().unwrap(), [json!({ "n": 1 })], "{reason}");
            assert_eq!(heard, ["started", "complete"], "{reason}");
            assert!(logs.is_empty(), "{logs:?}");
        } else {
            assert!(received.lock().unwrap().is_empty(), "{reason}");
            assert_eq!(heard, ["incomplete"], "{reason}");
            let named = reason.as_str().map_or("1", str::trim);
            assert!(
                logs[0].contains(named) && logs[0].contains("not executed"),
                "{logs:?}"
            );
        }
    }
}

#[tokio::test]
async fn text_with_unknown_finish_reason_is_an_answer_with_a_warning() {
    let script = Script::new([Answer::Stream(vec![
        json!({ "delta": { "content": "Here." } }),
        json!({ "delta": {}, "finish_reason": "something\n_new" }),
    ])]);
    let (note, logs) = logging();
    let runner = turnwright_core::runner(script.model())
        .observer(note)
        .build()
        .unwrap();
    assert_eq!(runner.run("Go.").await.into_answer().unwrap(), "Here.");
    let logs = logs.lock().unwrap();
    assert_eq!(logs.len(), 1);
    assert!(
        logs[0].contains("\"something _new\" is not known"),
        "{logs:?}"
    );
}

#[tokio::test]
async fn repeated_unknown_finish_reason_ends_the_turn() {
    let (tool, received) = recording_tool();
    let cut = || calls_of("something_new", [("note", "{}".to_owned())]);
    let script = Script::new([cut(), cut(), cut(), says("Never asked.")]);
    let outcome = run(&script, tool).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::MODEL_RESPONSE_INCOMPLETE);
    assert!(error.message().contains("something_new"), "{error}");
    assert!(received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn call_after_the_last_finish_reason_is_not_run() {
    let call = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "note", "arguments": "{\"n\": 1}" } }] } }] });
    let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    let events = |chunks: &[&Value]| server::Answer::sse(chunks.iter().map(ToString::to_string));
    let broken = |rest: &'static str| events(&[&call, &finish]).body(rest);
    let answers = [
        (events(&[&finish, &call]).step(Step::Reset), 0),
        (events(&[&finish, &call]).step(Step::Close), 0),
        (events(&[&finish, &call]), 0),
        (events(&[&finish, &call]).body("data: [DONE]\n\n"), 0),
        // Some servers send a finish reason after each call. The last one counts for all of them.
        (events(&[&finish, &call, &finish]).step(Step::Reset), 1),
        (events(&[&call, &finish]).step(Step::Reset), 1),
        // An unreadable event after the finish reason may have cancelled the call.
        (broken(r#"data: {"error":{"message":"overloaded, resp"#), 0),
        (broken("data: <html>502 Bad Gateway</html>\n\n"), 0),
        (broken("data: [ERROR] upstream died\n\n"), 0),
        (broken("event: Error\ndata: {}\n\n"), 0),
        (broken("data: [{\"error\":{\"message\":\"boom\"}}]\n\n"), 0),
    ];
    for (at, (answer, runs)) in answers.into_iter().enumerate() {
        let (tool, received) = recording_tool();
        let done =
            json!({ "choices": [{ "message": { "content": "Done." }, "finish_reason": "stop" }] });
        let server = Server::script([answer, server::Answer::json(200, done)])
            .await
            .unwrap();
        let model = ChatCompletions::builder(format!("{}/v1", server.url()))
            .model("test-model")
            .retry(RetryPolicy::never())
            .build()
            .unwrap();
        let runner = turnwright_core::runner(model).tool(tool).build().unwrap();
        let outcome = runner.run("Go.").await;
        assert_eq!(received.lock().unwrap().len(), runs, "{at}");
        let calls: Vec<_> = outcome.tool_calls().collect();
        assert_eq!((calls.len(), calls[0].is_cut_off()), (1, runs == 0), "{at}");
    }
}

#[tokio::test]
async fn repeatedly_truncated_responses_end_the_turn() {
    let (tool, received) = recording_tool();
    let cut = || calls_of("length", [("note", r#"{"n": "#.to_owned())]);
    let script = Script::new([cut(), cut(), cut(), says("Never asked.")]);
    let outcome = run(&script, tool).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::MODEL_RESPONSE_INCOMPLETE);
    assert!(error.message().contains("max_output_tokens"), "{error}");
    assert_eq!(script.bodies().len(), 3);
    assert!(received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn truncated_answer_is_recorded_but_is_not_the_answer() {
    let script = Script::new([Answer::Stream(vec![
        json!({ "delta": { "content": "It is abo" }, "finish_reason": "length" }),
    ])]);
    let (tool, _) = recording_tool();
    let outcome = run(&script, tool).await;
    assert!(
        matches!(&outcome.status, TurnStatus::Nacked(error) if error.code() == ErrorCode::MODEL_RESPONSE_INCOMPLETE)
    );
    let content: Vec<&str> = outcome.messages().map(|item| item.text()).collect();
    assert_eq!(content, ["Go.", "It is abo"]);
}

#[tokio::test]
async fn next_prompt_says_that_the_answer_was_cut_off() {
    let script = Script::new([
        Answer::Stream(vec![
            json!({ "delta": { "content": "It is abo" }, "finish_reason": "length" }),
        ]),
        says("Noon."),
    ]);
    let runner = turnwright_core::runner(script.model()).build().unwrap();
    let input = |text: &str| TurnInput::new(text).conversation("c");
    assert!(!runner.run(input("What time is it?")).await.is_answered());
    assert!(runner.run(input("Again.")).await.is_answered());
    let messages = &script.values()[1]["messages"];
    assert_eq!(
        messages[3]["content"],
        "(Note from the application, not from the user.) Your last answer was cut off (it reached the token limit).",
        "{messages}"
    );
}

#[tokio::test]
async fn refusal_is_recorded_and_ends_the_turn_as_declined() {
    let script = Script::new([Answer::Stream(vec![
        json!({ "delta": { "refusal": "I will " } }),
        json!({ "delta": { "refusal": "not." }, "finish_reason": "stop" }),
    ])]);
    let (tool, _) = recording_tool();
    let outcome = run(&script, tool).await;
    assert!(
        matches!(&outcome.status, TurnStatus::Nacked(error) if error.code() == ErrorCode::MODEL_DECLINED)
    );
    assert_eq!(outcome.messages().last().unwrap().text(), "I will not.");
}
