//! A fallback asks the next model when one cannot answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
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

/// Records which model each span and each measured operation names: the name of the span or `operation`, and the model,
/// with the error of a failed operation.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<(&'static str, String)>>>);

/// Reads the model and the error out of the fields of a span or an event.
struct ModelOf(Option<String>);

impl Visit for ModelOf {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "gen_ai.request.model" {
            self.0 = Some(value.to_owned());
        } else if field.name() == "error.type"
            && let Some(model) = &mut self.0
        {
            *model = format!("{model} {value}");
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Asked {
    fn add(&self, name: &'static str, record: impl FnOnce(&mut ModelOf)) {
        let mut model = ModelOf(None);
        record(&mut model);
        self.0
            .lock()
            .unwrap()
            .extend(model.0.map(|model| (name, model)));
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Asked {
    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let name = ctx.span(id).unwrap().name();
        self.add(name, |model| values.record(model));
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let is_duration = |field: Field| field.name().ends_with("operation.duration");
        if event.metadata().fields().iter().any(is_duration) {
            self.add("operation", |model| event.record(model));
        }
    }
}

#[tokio::test]
async fn traces_and_metrics_name_the_model_that_was_asked() {
    // With one subscriber alone, `tracing` may have asked only a thread without one.
    let _another = tracing::Dispatch::new(tracing_subscriber::registry());
    let asked = Asked::default();
    let layers = tracing_subscriber::registry().with(asked.clone());
    let _guard = tracing::subscriber::set_default(layers);
    let (one, two) = (Script::new([broken()]), Script::new([says("Forty-two.")]));
    let fallback = Fallback::new([
        model(&one).with_model("first"),
        model(&two).with_model("second"),
    ]);
    let runner = turnwright_core::runner(fallback).build().unwrap();
    assert_eq!(runner.run("What is it?").await.text, "Forty-two.");
    let asked = asked.0.lock().unwrap();
    for name in ["operation", "chat", "invoke_agent"] {
        let expected = (name, "second".to_owned());
        assert!(asked.contains(&expected), "{name}: {asked:?}");
    }
}

#[tokio::test]
async fn failed_request_of_a_fallback_is_an_operation_with_its_error() {
    let _another = tracing::Dispatch::new(tracing_subscriber::registry());
    let overloaded = Answer::Status(503, Vec::new(), json!({ "error": "overloaded" }));
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 2 });
    let after_usage = Answer::Broken(vec![
        json!({ "choices": [{ "delta": { "content": "The" } }], "usage": usage }),
        json!({ "error": { "message": "overloaded" } }),
    ]);
    for failure in [overloaded, after_usage] {
        let asked = Asked::default();
        let layers = tracing_subscriber::registry().with(asked.clone());
        let _guard = tracing::subscriber::set_default(layers);
        let (one, two) = (Script::new([failure]), Script::new([says("Forty-two.")]));
        let fallback = Fallback::new([
            model(&one).with_model("first"),
            model(&two).with_model("second"),
        ]);
        let runner = turnwright_core::runner(fallback).build().unwrap();
        assert_eq!(runner.run("What is it?").await.text, "Forty-two.");
        let asked = asked.0.lock().unwrap();
        let of_metric = |(name, _): &&(&str, String)| *name == "operation";
        let operations = asked.iter().filter(of_metric).map(|(_, model)| &**model);
        assert_eq!(
            operations.collect::<Vec<_>>(),
            ["first E_MODEL_SERVER_ERROR", "second"]
        );
    }
}
