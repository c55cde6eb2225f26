//! How turns end.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use turnwright_core::record::Record;
use turnwright_core::runner::Limit;
use turnwright_core::store::MemoryStore;

use super::*;

const PIPELINES: [&str; 4] = [
    "turn-input",
    "dispatch-input",
    "dispatch-output",
    "turn-output",
];

/// A runner in which one pipeline has `odd` between two layers that take notes.
fn with_odd<T, D>(
    at: &str,
    notes: &Notes,
    observed: &Observed,
    of_turn: T,
    of_dispatch: D,
) -> TurnRunner
where
    T: Middleware<TurnContext> + 'static,
    D: Middleware<DispatchContext> + 'static,
{
    let model = ScriptedModel::new([Step::say("half").keep_open(), Step::say("whole")]);
    let mut builder = runner(model).observer(observed.observer());
    builder = builder
        .turn_input(notes.layer("turn-input outer"))
        .dispatch_input(notes.layer("dispatch-input outer"))
        .dispatch_output(notes.layer("dispatch-output outer"))
        .turn_output(notes.layer("turn-output outer"));
    builder = match at {
        "turn-input" => builder.turn_input(of_turn),
        "turn-output" => builder.turn_output(of_turn),
        "dispatch-input" => builder.dispatch_input(of_dispatch),
        _ => builder.dispatch_output(of_dispatch),
    };
    builder
        .turn_input(notes.layer("turn-input inner"))
        .dispatch_input(notes.layer("dispatch-input inner"))
        .dispatch_output(notes.layer("dispatch-output inner"))
        .turn_output(notes.layer("turn-output inner"))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_layer_that_neither_continues_nor_aborts_is_reported_by_name() {
    for (at, name) in PIPELINES.into_iter().enumerate() {
        let (notes, observed) = (Notes::default(), Observed::default());
        let runner = with_odd(
            name,
            &notes,
            &observed,
            |_: TurnContext, _: Next<TurnContext>| async { Ok(()) },
            |_: DispatchContext, _: Next<DispatchContext>| async { Ok(()) },
        );
        let outcome = runner.run("go").await;
        assert_eq!(code_of(&outcome), "E_PIPELINE_SHORT_CIRCUITED");
        assert!(!error_of(&outcome).is_fatal());
        let errors = observed.of("error");
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0]["code"], "E_PIPELINE_SHORT_CIRCUITED");
        assert_eq!(
            (&errors[0]["pipeline"], &errors[0]["fatal"]),
            (&json!(name), &json!(false))
        );
        // The layers that were entered unwind; what comes after is skipped.
        assert!(notes.has(&format!("{name} outer out")), "{:?}", notes.all());
        assert!(!notes.has(&format!("{name} inner in")));
        for later in &PIPELINES[at + 1..] {
            assert!(
                !notes.has(&format!("{later} outer in")),
                "{later} after {name}"
            );
        }
        for before in &PIPELINES[..at] {
            assert!(
                notes.has(&format!("{before} inner out")),
                "{before} before {name}"
            );
        }
        assert_eq!(observed.of("turnEnd")[0]["status"], "failed");
        assert_eq!(
            observed.of("turnEnd")[0]["code"],
            "E_PIPELINE_SHORT_CIRCUITED"
        );
        observed.assert_paired();
    }
}

#[tokio::test]
async fn middleware_that_fails_or_panics_fails_the_turn_with_the_code_of_its_pipeline() {
    let codes = [
        "E_INPUT_PIPELINE_ERROR",
        "E_DISPATCH_PIPELINE_ERROR",
        "E_DISPATCH_PIPELINE_ERROR",
        "E_OUTPUT_PIPELINE_ERROR",
    ];
    for (name, code) in PIPELINES.into_iter().zip(codes) {
        for panics in [false, true] {
            let (notes, observed) = (Notes::default(), Observed::default());
            let fail = move || -> Result<(), BoxError> {
                assert!(!panics, "on purpose");
                Err(std::io::Error::other("the cupboard is bare").into())
            };
            let runner = with_odd(
                name,
                &notes,
                &observed,
                move |_: TurnContext, _: Next<TurnContext>| async move { fail() },
                move |_: DispatchContext, _: Next<DispatchContext>| async move { fail() },
            );
            let outcome = runner.run("go").await;
            let error = error_of(&outcome);
            assert_eq!(error.code().as_str(), code);
            assert!(!error.is_fatal());
            let words = if panics {
                "on purpose"
            } else {
                "the cupboard is bare"
            };
            assert!(error.message().contains(words), "{error}");
            let source = error.source().expect("the source is kept");
            assert_eq!(source.is::<std::io::Error>(), !panics);
            assert_eq!(observed.of("error")[0]["pipeline"], name);
            assert!(
                notes.has(&format!("{name} outer failed")),
                "the layers further out see it"
            );
            observed.assert_paired();
        }
    }
}

#[tokio::test]
async fn an_outer_layer_may_recover_from_an_inner_failure() {
    let saved = |_: TurnContext, next: Next<TurnContext>| async move {
        assert!(next.run().await.is_err());
        Ok(())
    };
    let fails_late = |_: TurnContext, next: Next<TurnContext>| async move {
        next.run().await?;
        Err("on the way out".into())
    };
    let runner = runner(ScriptedModel::new([Step::say("fine")]))
        .turn_input(saved)
        .turn_input(fails_late)
        .build()
        .unwrap();
    assert_eq!(runner.run("go").await.text, "fine");
}

#[tokio::test]
async fn a_failing_or_panicking_executor_fails_the_turn_with_its_error() {
    let observed = Observed::default();
    let model = ScriptedModel::new([
        Step::fail(std::io::Error::other("no route")),
        Step::run(|_| async { panic!("on purpose") }),
    ]);
    let runner = runner(model).observer(observed.observer()).build().unwrap();
    let failed = error_of(&runner.run("go").await);
    assert_eq!(failed.code().as_str(), "E_LLM_EXECUTION_EXECUTOR_ERROR");
    assert!(!failed.is_fatal());
    let source = failed
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.unwrap().to_string(), "no route");
    assert_eq!(observed.of("error")[0]["pipeline"], Value::Null);
    observed.assert_paired();

    let panicked = error_of(&runner.run("go").await);
    assert_eq!(panicked.code().as_str(), "E_LLM_EXECUTION_EXECUTOR_ERROR");
    assert!(panicked.message().contains("on purpose"), "{panicked}");
}

#[tokio::test]
async fn a_nack_has_the_error_it_was_given() {
    let own = Error::new(ErrorCode::TOOL_DENIED, "not in this house");
    let model = ScriptedModel::new([Step::nack(own), Step::nack(std::io::Error::other("theirs"))]);
    let runner = runner(model).build().unwrap();
    let TurnStatus::Nacked(error) = runner.run("go").await.status else {
        panic!()
    };
    assert_eq!(
        (error.code().as_str(), error.message()),
        ("E_TOOL_DENIED", "not in this house")
    );
    let outcome = runner.run("go").await;
    let error = outcome.into_answer().unwrap_err();
    assert_eq!(error.code().as_str(), "E_LLM_EXECUTION_NACKED");
    assert!(
        error
            .source()
            .is_some_and(|source| source.is::<std::io::Error>())
    );
}

#[tokio::test]
async fn the_default_iteration_limit_is_64_and_ends_the_turn() {
    let notes = Notes::default();
    let endless = |_: DispatchContext| async { Ok(()) };
    let runner = |most: Option<u32>| {
        let builder = runner(endless).turn_output(notes.layer("output"));
        match most {
            Some(most) => builder.iteration_limit(most),
            None => builder,
        }
        .build()
        .unwrap()
    };
    for (text, most) in [(None, 64), (Some(3), 3)] {
        let outcome = runner(text).run("go").await;
        assert!(matches!(outcome.status, TurnStatus::Limit(Limit::Iterations(n)) if n == most));
        assert_eq!(outcome.iterations, most);
        assert_eq!(code_of(&outcome), "E_TURN_LIMIT");
    }
    assert_eq!(notes.all(), [""; 0], "nothing comes after a limit");
}

#[tokio::test]
async fn a_custom_limit_is_reported_as_a_limit() {
    let observed = Observed::default();
    let budget = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if ctx.usage().total_tokens() > 100 {
            ctx.turn().end_at_limit(Limit::Tokens(100));
        }
        next.run().await
    };
    let step = || Step::silent().usage(Usage::tokens(60, 1)).keep_open();
    let model = ScriptedModel::new([step(), step(), step()]);
    let runner = runner(model.clone())
        .dispatch_input(budget)
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(matches!(
        outcome.status,
        TurnStatus::Limit(Limit::Tokens(100))
    ));
    assert_eq!(model.unplayed(), [2]);
    assert_eq!(outcome.usage.requests, 2);
    assert_eq!(observed.of("turnEnd")[0]["status"], "limit");
    assert_eq!(observed.of("turnEnd")[0]["usage"]["inputTokens"], 120);
}

#[tokio::test]
async fn the_first_reason_to_stop_counts() {
    let model = ScriptedModel::new([Step::run(|ctx| async move {
        ctx.turn().abort("first");
        ctx.turn().end_at_limit(Limit::Tokens(1));
        ctx.turn().abort("third");
        Err("a failure after that".into())
    })]);
    let runner = runner(model).build().unwrap();
    let outcome = runner.run("go").await;
    assert!(matches!(&outcome.status, TurnStatus::Aborted { reason, .. } if reason == "first"));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_a_limit_of_turn_or_runner() {
    let slow = || ScriptedModel::new([Step::wait(Duration::from_secs(10)).then_say("late")]);
    let second = Duration::from_secs(1);
    let of_input = runner(slow()).build().unwrap();
    let by_input = of_input
        .run(TurnInput::new("go").budget(Budget::new().time(second)))
        .await;
    let of_runner = runner(slow())
        .budget(Budget::new().time(second))
        .build()
        .unwrap();
    let by_runner = of_runner.run("go").await;
    for outcome in [by_input, by_runner] {
        assert!(matches!(outcome.status, TurnStatus::Limit(Limit::Time(limit)) if limit == second));
        assert_eq!(outcome.text, "");
    }
    // The input takes precedence.
    let patient = runner(slow())
        .budget(Budget::new().time(second))
        .build()
        .unwrap();
    let outcome = patient
        .run(TurnInput::new("go").budget(Budget::new().time(Duration::from_secs(60))))
        .await;
    assert_eq!(outcome.text, "late");
}

#[tokio::test]
async fn the_records_of_the_outcome_are_those_in_the_store() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new([
        Step::think("hm")
            .call("act", "{}")
            .call("nonsense", "{}")
            .call("act", "not json"),
        Step::run(|ctx| async move {
            let words = ctx.reporter().message();
            let mut words = words;
            words.push("stored").await;
            let words = words.finish().await?;
            // Changes in this turn only are not in the store.
            ctx.records().add(
                Message::assistant("for this turn only")
                    .id(words.id())
                    .build()?,
            );
            let removed = ctx.reporter().thought();
            let mut removed = removed;
            removed.push("taken away again").await;
            let removed = removed.finish().await?;
            ctx.records().remove::<record::Thought>(removed.id());
            ctx.records()
                .add(Message::assistant("never stored").build()?);
            Ok(())
        }),
    ]);
    let runner = runner(model)
        .storage(storage_of(Arc::clone(&store)))
        .tool(returning("act", "acted"))
        .build()
        .unwrap();
    let outcome = runner.run(stored("go")).await;
    assert!(outcome.is_answered(), "{:?}", outcome.status);
    let say = |record: &Record| {
        let text = match record {
            Record::Message(one) => one.text().to_owned(),
            Record::Thought(one) => one.text().to_owned(),
            Record::ToolCall(one) => format!("{} {}", one.tool(), one.is_error()),
            other => format!("{other:?}"),
        };
        format!("{} {} {text}", record.kind(), record.id())
    };
    let held = held(&*store, &outcome).await;
    let held = held.iter().filter(|record| !record.kind().is_bookkeeping());
    let words: Vec<String> = outcome.records.iter().map(say).collect();
    assert_eq!(words, held.map(say).collect::<Vec<_>>());
    assert_eq!(words.len(), 7, "{words:?}");
}

#[tokio::test]
async fn the_outcome_has_the_code_of_our_error() {
    let executor = |_: DispatchContext| async {
        let error = Error::new(ErrorCode::MODEL_UNREACHABLE, "no connection");
        Err(BoxError::from(error))
    };
    let error = error_of(&runner(executor).build().unwrap().run("go").await);
    assert_eq!(error.code(), ErrorCode::MODEL_UNREACHABLE);
    assert_eq!(error.message(), "no connection");

    let executor = |_: DispatchContext| async { Err(BoxError::from("no connection")) };
    let error = error_of(&runner(executor).build().unwrap().run("go").await);
    assert_eq!(error.code(), ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR);
    assert!(std::error::Error::source(&error).is_some());
}
