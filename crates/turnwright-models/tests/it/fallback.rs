//! A fallback asks the next model when one cannot answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use turnwright_core::{EventKind, Tool, ToolContext};
use turnwright_models::Fallback;
use turnwright_models::retry::RetryPolicy;

use crate::calls::logging;
use crate::script::{Answer, Script, calls, says};

fn model(script: &Script) -> turnwright_models::ChatCompletions {
    script
        .builder()
        .retry(RetryPolicy::never())
        .build()
        .unwrap()
}

fn broken() -> Answer {
    Answer::Broken(vec![
        json!({ "delta": { "reasoning_content": "Hm" } }),
        json!({ "delta": { "content": "The answer is" } }),
    ])
}

fn counted(name: &str) -> (Tool, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let tool = Tool::dynamic(name, json!({ "type": "object" }))
        .description("Counts.")
        .handler(move |_: Value, _: ToolContext| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { "done" }
        });
    (tool.build().unwrap(), count)
}

#[tokio::test]
async fn next_model_answers_and_what_was_streamed_is_retracted() {
    let (one, two) = (Script::new([broken()]), Script::new([says("Forty-two.")]));
    let fallback = Fallback::new([model(&one), model(&two)]);
    let (note, logs) = logging();
    let runner = turnwright_core::runner(fallback)
        .observer(note)
        .build()
        .unwrap();
    let (handle, mut stream) = runner.start("What is it?").split();
    let mut discarded = 0;
    while let Some(event) = stream.next().await {
        discarded += usize::from(matches!(event.kind, EventKind::Discarded { .. }));
    }
    let outcome = handle.outcome().await;
    assert_eq!(outcome.text, "Forty-two.");
    assert_eq!(discarded, 2, "the reasoning and the text");
    let logs = logs.lock().unwrap();
    assert!(logs[0].contains("is asked instead"), "{logs:?}");
    // The failed response left no records, so the second model was not shown any of it.
    assert_eq!(outcome.thoughts().count(), 0);
    assert_eq!(two.values()[0]["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn model_that_answered_stays_for_the_turn() {
    let rejects = || Answer::Status(500, Vec::new(), json!({ "error": "down" }));
    let one = Script::new([rejects(), says("Back again.")]);
    let two = Script::new([calls([("count", json!({}))]), says("Done.")]);
    let (tool, count) = counted("count");
    let fallback = Fallback::new([model(&one)]).or(model(&two));
    let runner = turnwright_core::runner(fallback)
        .tool(tool)
        .build()
        .unwrap();
    assert_eq!(runner.run("Go.").await.text, "Done.");
    assert_eq!((one.bodies().len(), two.bodies().len()), (1, 2));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    // The next turn starts with the first model again.
    assert_eq!(runner.run("And now?").await.text, "Back again.");
}

#[tokio::test]
async fn last_error_is_returned_if_no_model_answers() {
    let rejects = |status| Answer::Status(status, Vec::new(), json!({ "error": "no" }));
    let (one, two) = (Script::new([rejects(500)]), Script::new([rejects(401)]));
    let fallback = Fallback::new([model(&one), model(&two)]);
    let runner = turnwright_core::runner(fallback).build().unwrap();
    let outcome = runner.run("Hello").await;
    let error = outcome.status.error().unwrap();
    assert!(error.message().contains("401"), "{error}");
    let none = Fallback::new(Vec::<turnwright_models::ChatCompletions>::new());
    let runner = turnwright_core::runner(none).build().unwrap();
    let error = runner.run("Hello").await;
    assert_eq!(
        error.status.error().unwrap().code().as_str(),
        "E_INVALID_MODEL_CONFIG"
    );
}

#[tokio::test]
async fn model_is_not_replaced_after_a_call_has_run() {
    let (tool, count) = counted("count");
    let second = Script::new([says("Never asked.")]);
    // An executor that runs a call and then fails.
    let fails_late = |ctx: turnwright_core::DispatchContext| async move {
        ctx.call_tools([ctx.propose("count", "{}")]).await;
        let code = turnwright_core::ErrorCode::MODEL_UNREACHABLE;
        Err(turnwright_core::Error::new(code, "gone").into())
    };
    let fallback = Fallback::new([fails_late]).or(model(&second));
    let runner = turnwright_core::runner(fallback)
        .tool(tool)
        .build()
        .unwrap();
    let outcome = runner.run("Go.").await;
    assert_eq!(outcome.status.error().unwrap().message(), "gone");
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert!(second.bodies().is_empty());
}
