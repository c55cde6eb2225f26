use super::*;
use crate::middleware::{iteration_limit, repeated_call_guard, token_budget};
use crate::record::Author;

fn framework_texts(outcome: &TurnOutcome) -> Vec<String> {
    outcome
        .messages()
        .filter(|message| *message.author() == Author::Framework)
        .map(|message| message.text().to_owned())
        .collect()
}

#[tokio::test]
async fn so_many_iterations_run_and_the_next_does_not_reach_the_executor() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let runner = TurnRunner::builder(move |_: DispatchContext| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    })
    .dispatch_input(iteration_limit(3))
    .build()
    .unwrap();
    let outcome = runner.run("go").await;
    assert!(matches!(
        outcome.ended,
        TurnStatus::Limit(Limit::Iterations(3))
    ));
    assert_eq!(ran.load(Ordering::Relaxed), 3);
    assert!(framework_texts(&outcome).is_empty());
    let error = outcome.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TurnLimit);
}

#[tokio::test]
async fn no_iteration_beyond_the_limit_is_begun_counted_or_told() {
    for (of_runner, of_middleware, most) in [(64, Some(5), 5), (5, None, 5), (3, Some(5), 3)] {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reported);
        let mut runner = TurnRunner::builder(|_: DispatchContext| async { Ok(()) })
            .iteration_limit(of_runner)
            .observer(move |event: &Event| match event.kind {
                EventKind::IterationStart { iteration } => seen.lock().push(iteration),
                EventKind::DispatchEnd { iterations, .. } => seen.lock().push(100 + iterations),
                _ => {}
            });
        if let Some(limit) = of_middleware {
            runner = runner.dispatch_input(iteration_limit(limit));
        }
        let outcome = runner.build().unwrap().run("go").await;
        let TurnStatus::Limit(Limit::Iterations(reached)) = outcome.ended else {
            panic!("{:?}", outcome.ended);
        };
        assert_eq!((reached, outcome.iterations), (most, most));
        let expected: Vec<u32> = (1..=most).chain([100 + most]).collect();
        assert_eq!(*reported.lock(), expected);
    }
}

#[tokio::test]
async fn a_turn_within_its_iterations_is_left_alone() {
    let runner = calling("look", 3)
        .tool(plain("look"))
        .dispatch_input(iteration_limit(3))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    assert!(framework_texts(&outcome).is_empty());
}

#[tokio::test]
async fn the_last_iteration_is_announced_once_and_on_record() {
    let runner = calling("look", 3)
        .tool(plain("look"))
        .dispatch_input(iteration_limit(3).announced())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    let texts = framework_texts(&outcome);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("last step"), "{texts:?}");
    let runner = calling("look", 1)
        .dispatch_input(iteration_limit(1).announced())
        .build()
        .unwrap();
    assert!(framework_texts(&runner.run("go").await).is_empty());
}

fn using(input: u64, output: u64) -> TurnRunnerBuilder {
    TurnRunner::builder(move |ctx: DispatchContext| async move {
        ctx.reporter().usage(Usage::tokens(input, output));
        if ctx.iteration() == 4 {
            ctx.answer("done").await?;
        }
        Ok(())
    })
}

#[tokio::test]
async fn a_budget_ends_the_turn_before_the_request_after_it_was_used_up() {
    for (budget, requests) in [
        (token_budget(1_000), 1),
        (token_budget(1_001), 2),
        (token_budget(1_800).input_only(), 2),
        (token_budget(300).output_only(), 3),
        (token_budget(2).counting(|usage| usage.requests), 2),
        (token_budget(0), 0),
    ] {
        let runner = using(900, 100).dispatch_input(budget).build().unwrap();
        let outcome = runner.run("go").await;
        let limit = matches!(outcome.ended, TurnStatus::Limit(Limit::Tokens(_)));
        assert!(limit, "{budget:?}: {outcome:?}");
        assert_eq!(outcome.usage.requests, requests, "{budget:?}");
    }
}

#[tokio::test]
async fn a_budget_that_is_not_used_up_changes_nothing_in_either_pipeline() {
    let runner = using(900, 100)
        .turn_input(token_budget(1))
        .dispatch_input(token_budget(3_001))
        .build()
        .unwrap();
    assert!(runner.run("go").await.is_answered());
}

#[tokio::test]
async fn a_repeated_call_is_told_of_first_and_ends_the_turn_if_it_is_made_again() {
    let runner = calling("look", 60)
        .tool(plain("look"))
        .dispatch_input(repeated_call_guard(3))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    let TurnStatus::Limit(Limit::RepeatedCall { tool, times }) = &outcome.ended else {
        panic!("{outcome:?}");
    };
    assert_eq!((&**tool, *times), ("look", 4));
    assert_eq!(outcome.tool_calls().count(), 4);
    let texts = framework_texts(&outcome);
    assert_eq!(texts.len(), 1);
    assert!(
        texts[0].starts_with("You have called \"look\" 3 times"),
        "{texts:?}"
    );
    // Between the third call and the fourth, where the model reads it.
    let kinds: Vec<_> = outcome.records.iter().map(Record::kind).collect();
    use RecordKind::{Message as Spoke, ToolCall as Called};
    assert_eq!(kinds, [Spoke, Called, Called, Called, Spoke, Called]);
}

#[tokio::test]
async fn a_model_that_heeds_it_goes_on() {
    let runner = calling("look", 4)
        .tool(plain("look"))
        .dispatch_input(repeated_call_guard(3))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    assert_eq!(framework_texts(&outcome).len(), 1);

    let runner = calling("look", 3)
        .tool(plain("look"))
        .dispatch_input(repeated_call_guard(3))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    assert!(
        framework_texts(&outcome).is_empty(),
        "twice is not three times"
    );
}

#[tokio::test]
async fn equal_calls_made_together_are_told_of_before_anything_ends() {
    let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
        match ctx.iteration() {
            1 => drop(
                ctx.call_tools((0..5).map(|_| ctx.propose("look", "{}")))
                    .await,
            ),
            2 => drop(ctx.call("look", r#"{"other": 1}"#).await),
            _ => drop(ctx.answer("done").await?),
        }
        Ok(())
    })
    .tool(plain("look"))
    .dispatch_input(repeated_call_guard(2))
    .build()
    .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered(), "{outcome:?}");
    let texts = framework_texts(&outcome);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains(" 5 times"), "{texts:?}");
}

#[tokio::test]
async fn refused_calls_count_and_their_names_are_quoted() {
    let runner = calling("no \"such\u{202e} tool", 60)
        .dispatch_input(repeated_call_guard(2).without_telling())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    let TurnStatus::Limit(Limit::RepeatedCall { tool, times: 2 }) = &outcome.ended else {
        panic!("{outcome:?}");
    };
    assert!(!tool.contains('\u{202e}'), "{tool}");
    assert!(framework_texts(&outcome).is_empty());
}

#[tokio::test]
async fn tools_that_may_be_repeated_are_left_alone() {
    let polls = done(tool("look").meta(json!({ "repeatable": true })));
    for (look, guard) in [
        (polls, repeated_call_guard(2)),
        (
            plain("look"),
            repeated_call_guard(2).except(|tool| tool.name() == "look"),
        ),
    ] {
        let runner = calling("look", 9)
            .tool(look)
            .dispatch_input(guard)
            .build()
            .unwrap();
        let outcome = runner.run("go").await;
        assert!(outcome.is_answered());
        assert!(framework_texts(&outcome).is_empty());
    }
}

#[tokio::test]
async fn calls_of_earlier_turns_do_not_count() {
    let runner = calling("look", 3)
        .tool(plain("look"))
        .dispatch_input(repeated_call_guard(3).without_telling())
        .build()
        .unwrap();
    let mut chat = Conversation::new(&runner, "chat");
    for _ in 0..3 {
        let outcome = chat.say("go").await;
        assert!(outcome.is_answered(), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_stash_that_is_in_the_way_is_told_of() {
    let runner = calling("look", 9)
        .tool(plain("look"))
        .dispatch_input(repeated_call_guard(2))
        .build()
        .unwrap();
    let outcome = runner
        .run(TurnInput::new("go").stash("turnwright", "mine"))
        .await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::DispatchPipeline);
    assert!(error.message().contains("E_INVALID_STASH_PATH"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_share_a_guard_and_a_budget_know_nothing_of_each_other() {
    let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
        ctx.reporter().usage(Usage::tokens(10, 0));
        let steps = ctx.stash().get_as::<u32>("steps").unwrap_or_default();
        if ctx.iteration() > steps {
            ctx.answer("done").await?;
            return Ok(());
        }
        ctx.call("look", "{}").await;
        tokio::task::yield_now().await;
        Ok(())
    })
    .tool(plain("look"))
    .dispatch_input(token_budget(41))
    .dispatch_input(repeated_call_guard(3))
    .build()
    .unwrap();
    let turns = (0..64_u32).map(|n| runner.run(TurnInput::new("go").stash("steps", n % 6)));
    let outcomes = futures_util::future::join_all(turns).await;
    for (n, outcome) in (0..64_u32).zip(outcomes) {
        match n % 6 {
            0..=3 => assert!(outcome.is_answered(), "{n}: {outcome:?}"),
            _ => assert!(
                matches!(
                    outcome.ended,
                    TurnStatus::Limit(Limit::RepeatedCall { times: 4, .. })
                ),
                "{n}: {outcome:?}"
            ),
        }
        assert_eq!(
            framework_texts(&outcome).len(),
            usize::from(n % 6 >= 3),
            "{n}"
        );
    }
}
