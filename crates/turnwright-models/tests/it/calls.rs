//! Tool calls and answers of a model, and how they are processed.

use std::sync::Arc;
use std::sync::Mutex;

use serde_json::{Value, json};
use turnwright_core::event::{Event, EventKind};
use turnwright_core::{Tool, ToolContext, TurnInput, TurnOutcome};

use crate::script::{Answer, Script, calls, calls_of, says};

/// Returns a tool that records its arguments.
pub(crate) fn recording_tool() -> (Tool, Arc<Mutex<Vec<Value>>>) {
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

pub(crate) async fn run(script: &Script, tool: Tool) -> TurnOutcome {
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
