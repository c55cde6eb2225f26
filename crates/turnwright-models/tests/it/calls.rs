//! Tool calls and answers of a model, and how they are processed.

use std::sync::Arc;
use std::sync::Mutex;

use serde_json::{Value, json};
use turnwright_core::event::{Event, EventKind};
use turnwright_core::record::ToolResults;
use turnwright_core::{
    ErrorCode, Tool, ToolContext, TurnEventKind, TurnInput, TurnOutcome, TurnStatus,
};
use turnwright_models::ChatCompletions;
use turnwright_models::retry::RetryPolicy;
use turnwright_testkit::server::{self, Server, Step};

use crate::script::{Answer, Script, calls, calls_of, says};

/// Returns a tool that records its arguments.
fn recording_tool() -> (Tool, Arc<Mutex<Vec<Value>>>) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&received);
    let tool = Tool::dynamic(
        "note",
        json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    )
    .description("Notes a number.")
    .handler(move |args: Value, _: ToolContext| {
        notes.lock().unwrap().push(args);
        async { "noted" }
    })
    .build()
    .unwrap();
    (tool, received)
}

async fn run(script: &Script, tool: Tool) -> TurnOutcome {
    let runner = turnwright_core::runner(script.model())
        .tool(tool)
        .build()
        .unwrap();
    runner.run("Go.").await
}

#[tokio::test]
async fn missing_arguments_are_an_empty_object_in_a_complete_response() {
    for nothing in ["", "  \n", "null"] {
        let (tool, received) = recording_tool();
        let script = Script::new([
            calls_of("tool_calls", [("note", nothing.to_owned())]),
            says("Done."),
        ]);
        let outcome = run(&script, tool).await;
        assert_eq!(outcome.text, "Done.");
        assert_eq!(*received.lock().unwrap(), [json!({})], "{nothing:?}");
        let sent = &script.values()[1]["messages"][2]["tool_calls"][0]["function"];
        assert_eq!(
            sent["arguments"], "{}",
            "the arguments that are sent back are valid JSON"
        );
    }
}

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

/// Returns a middleware that records log messages.
pub(crate) fn logging() -> (
    impl Fn(&Event) + Send + Sync + 'static,
    Arc<Mutex<Vec<String>>>,
) {
    let logs = Arc::new(Mutex::new(Vec::new()));
    let expected = Arc::clone(&logs);
    let note = move |event: &Event| {
        if let EventKind::Log { message, .. } = &event.kind {
            expected.lock().unwrap().push(message.clone());
        }
    };
    (note, logs)
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
                TurnEventKind::ToolCall(call) => {
                    assert!(call.is_complete() && !call.is_error());
                    heard.push("complete");
                }
                TurnEventKind::ToolCallIncomplete(call) => {
                    assert!(call.is_cut_off() && call.is_error() && !call.is_complete());
                    heard.push("incomplete");
                }
                TurnEventKind::ToolCallStarted { .. } => heard.push("started"),
                _ => {}
            }
        }
        assert_eq!(turn.await.text, "Done.", "{reason}");
        let logs = logs.lock().unwrap();
        match runs {
            true => {
                assert_eq!(*received.lock().unwrap(), [json!({ "n": 1 })], "{reason}");
                assert_eq!(heard, ["started", "complete"], "{reason}");
                assert!(logs.is_empty(), "{logs:?}");
            }
            false => {
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
async fn call_after_the_finish_reason_is_not_run_if_the_connection_breaks() {
    let call = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "note", "arguments": "{\"n\": 1}" } }] } }] });
    let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    let events = |chunks: &[&Value]| server::Answer::sse(chunks.iter().map(ToString::to_string));
    let broken = |rest: &'static str| events(&[&call, &finish]).body(rest);
    let answers = [
        (events(&[&finish, &call]).step(Step::Reset), 0),
        (events(&[&finish, &call]).step(Step::Close), 0),
        (events(&[&finish, &call]), 0),
        // If the finish reason is repeated, or `[DONE]` follows, it counts for the call too.
        (events(&[&finish, &call, &finish]).step(Step::Reset), 1),
        (events(&[&finish, &call]).body("data: [DONE]\n\n"), 1),
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

#[tokio::test]
async fn unknown_tools_and_invalid_arguments_are_reported_to_the_model() {
    let (tool, received) = recording_tool();
    let script = Script::new([
        calls_of(
            "tool_calls",
            [
                ("no such.tool!", "{}".to_owned()),
                ("note", "n=5".to_owned()),
                ("note", r#"{"n": "many"}"#.to_owned()),
            ],
        ),
        says("Done."),
    ]);
    let outcome = run(&script, tool).await;
    assert_eq!(outcome.text, "Done.");
    assert!(received.lock().unwrap().is_empty());
    let second = script.values()[1].clone();
    let messages = second["messages"].as_array().unwrap();
    let sent = messages[2]["tool_calls"].as_array().unwrap();
    assert_eq!(sent[0]["function"]["name"], "no_such_tool_");
    for call in sent {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        assert!(
            serde_json::from_str::<Value>(arguments)
                .unwrap()
                .is_object()
        );
        assert_eq!(call["type"], "function");
    }
    let expected: Vec<&str> = messages[3..]
        .iter()
        .map(|item| item["content"].as_str().unwrap())
        .collect();
    assert!(
        expected[0].contains("Unknown tool")
            && expected[1].contains("JSON")
            && expected[2].contains("/n"),
        "{expected:?}"
    );
}

#[tokio::test]
async fn untrusted_text_is_in_an_envelope_that_is_explained() {
    let (tool, _) = recording_tool();
    let script = Script::new([calls([("note", json!({ "n": 1 }))]), says("Done.")]);
    run(&script, tool).await;
    let second = &script.values()[1];
    let result = second["messages"][3]["content"].as_str().unwrap();
    assert!(
        result.starts_with("<tw-untrusted-") && result.contains("noted"),
        "{result}"
    );
    let system = &second["messages"][0];
    assert_eq!(system["role"], "system");
    let content = system["content"].as_str().unwrap();
    assert!(
        content.contains(turnwright_core::trust::NOTICE),
        "{content}"
    );
}

#[tokio::test]
async fn names_of_users_are_a_field_or_enclosed_and_explained() {
    for name in [None, Some("Ada"), Some("Zoë")] {
        let script = Script::new([says("Hello.")]);
        let runner = turnwright_core::runner(script.model()).build().unwrap();
        let input = TurnInput::new("Hi");
        let input = match name {
            Some(name) => input.name(name),
            None => input,
        };
        assert!(runner.run(input).await.is_answered());
        let messages = &script.values()[0]["messages"];
        let [system, user] = [0, 1].map(|at| messages[at]["content"].as_str().unwrap());
        let explained = system.contains(turnwright_core::trust::NAMES_NOTICE);
        // The protocol can carry only simple names.
        assert_eq!(explained, name == Some("Zoë"), "{system}");
        let field = messages[1].get("name").and_then(Value::as_str);
        assert_eq!(field, name.filter(|name| *name == "Ada"));
        match name {
            Some("Ada") => assert_eq!(user, "Hi"),
            Some(_) => assert!(
                user.starts_with("<tw-sender-") && user.contains("name=\"Zoë\">\nHi\n</tw-sender-"),
                "{user}"
            ),
            None => assert_eq!(user, "Hi"),
        }
    }
}

#[tokio::test]
async fn published_schema_is_the_enforced_schema() {
    let document = json!({
        "type": "object",
        "properties": { "n": { "type": "integer", "minimum": 3, "maximum": 9, "description": "Between." } },
        "required": ["n"],
        "additionalProperties": false,
    });
    let tool = Tool::dynamic("bound", document.clone())
        .description("Bounded.")
        .handler(|_: Value, _: ToolContext| async { "ran" })
        .build()
        .unwrap();
    let script = Script::new([calls([("bound", json!({ "n": 2 }))]), says("Done.")]);
    let outcome = run(&script, tool).await;
    let shown = &script.values()[0]["tools"][0];
    assert_eq!(
        *shown,
        json!({
            "type": "function",
            "function": { "name": "bound", "description": "Bounded.", "parameters": document },
        })
    );
    assert!(outcome.tool_calls().next().unwrap().is_error());
}

#[tokio::test]
async fn usage_is_reported_and_summed_with_cached_tokens() {
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
        "prompt_tokens_details": { "cached_tokens": 64 },
        "completion_tokens_details": { "reasoning_tokens": 3 },
    });
    let answer = Answer::Complete(json!({
        "choices": [{ "message": { "role": "assistant", "content": "Hi." }, "finish_reason": "stop" }],
        "usage": usage,
    }));
    let script = Script::new([answer]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let expected = Arc::clone(&seen);
    let runner = turnwright_core::runner(script.model())
        .observer(move |event: &Event| {
            if let EventKind::Usage(usage) = &event.kind {
                expected.lock().unwrap().push(usage.tokens);
            }
        })
        .build()
        .unwrap();
    let outcome = runner.run("Hello").await;
    assert_eq!(outcome.text, "Hi.");
    let counted = outcome.usage;
    assert_eq!(
        (
            counted.requests,
            counted.input_tokens,
            counted.cached_input_tokens,
            counted.output_tokens,
            counted.reasoning_tokens
        ),
        (1, 100, 64, 7, 3)
    );
    assert_eq!(*seen.lock().unwrap(), [counted]);
}

#[tokio::test]
async fn root_alternatives_are_logged_once_and_named_in_the_rejection() {
    let tool = || {
        Tool::dynamic(
            "either",
            json!({
                "type": "object",
                "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
            }),
        )
        .description("One or the other.")
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
    };
    let refused = Answer::Status(
        400,
        vec![],
        json!({ "error": { "message": "Invalid schema for function" } }),
    );
    let script = Script::new([says("One."), says("Two."), refused]);
    let logs = Arc::new(Mutex::new(Vec::new()));
    let expected = Arc::clone(&logs);
    let runner = turnwright_core::runner(script.model())
        .tool(tool())
        .observer(move |event: &Event| {
            if let EventKind::Log { message, .. } = &event.kind {
                expected.lock().unwrap().push(message.clone());
            }
        })
        .build()
        .unwrap();
    runner.run("One?").await.into_answer().unwrap();
    runner.run("Two?").await.into_answer().unwrap();
    let expected = logs.lock().unwrap().clone();
    assert_eq!(expected.len(), 1, "{expected:?}");
    assert!(
        expected[0].contains("`either`") && expected[0].contains("`oneOf`"),
        "{expected:?}"
    );
    let error = runner.run("Three?").await.status.error().unwrap();
    let content = error.with_causes();
    assert!(
        content.contains("Invalid schema for function") && content.contains("at the root: either"),
        "{content}"
    );
}

#[tokio::test]
async fn typed_answer_uses_response_format_and_is_validated() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct City {
        /// Its name.
        name: String,
        people: u32,
    }
    let script = Script::new([
        says(r#"{"name": "Bern"}"#),
        says(r#"{"name": "Bern", "people": 134000}"#),
    ]);
    let runner = turnwright_core::runner(script.model()).build().unwrap();
    let city = runner
        .run_typed::<City>("Which city?")
        .await
        .into_answer()
        .unwrap();
    assert_eq!((city.name.as_str(), city.people), ("Bern", 134_000));
    let values = script.values();
    let format = &values[0]["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["name"], "City");
    assert_eq!(
        format["json_schema"]["schema"]["required"],
        json!(["name", "people"])
    );
    assert_eq!(values[1]["response_format"], *format);
    let expected = values[1]["messages"].as_array().unwrap().last().unwrap();
    assert!(
        expected["content"].as_str().unwrap().contains("/people"),
        "{expected}"
    );
}

#[tokio::test]
async fn typed_answer_schema_can_be_in_the_prompt() {
    use turnwright_models::TypedAnswers;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Yes {
        yes: bool,
    }
    for (how, format) in [
        (TypedAnswers::JsonObject, json!({ "type": "json_object" })),
        (TypedAnswers::Prompt, Value::Null),
    ] {
        let script = Script::new([says(r#"{"yes": true}"#)]);
        let model = script.builder().typed_answers(how).build().unwrap();
        let runner = turnwright_core::runner(model).instructions("Be exact.");
        let runner = runner.build().unwrap();
        assert!(
            runner
                .run_typed::<Yes>("Is it?")
                .await
                .into_answer()
                .unwrap()
                .yes
        );
        let sent = &script.values()[0];
        assert_eq!(sent["response_format"], format);
        let system = sent["messages"][0]["content"].as_str().unwrap();
        assert!(
            system.contains("Be exact.")
                && system.contains("Your final answer must be JSON only, without any other text. It must match this JSON Schema:\n{")
                && system.contains("\"yes\""),
            "{system}"
        );
    }
}

#[tokio::test]
async fn tool_without_arguments_has_empty_properties() {
    let tool = Tool::dynamic(
        "look",
        json!({ "type": "object", "additionalProperties": false }),
    )
    .description("Looks.")
    .handler(|_: Value, _: ToolContext| async { "seen" })
    .build()
    .unwrap();
    let script = Script::new([says("Yes.")]);
    run(&script, tool).await;
    let shown = &script.values()[0]["tools"][0]["function"]["parameters"];
    assert_eq!(
        *shown,
        json!({ "type": "object", "additionalProperties": false, "properties": {} })
    );
}
