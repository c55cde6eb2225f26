use super::*;
use crate::Budget;
use crate::event::Event;
use crate::event::EventKind;
use crate::middleware::repeated_call_guard;
use crate::outcome::Limit;
use crate::record::Author;
use crate::record::Record;
use crate::record::RecordKind;

fn framework_texts(outcome: &TurnOutcome) -> Vec<String> {
    outcome
        .messages()
        .filter(|message| *message.author() == Author::Framework)
        .map(|message| message.text().to_owned())
        .collect()
}

#[tokio::test]
async fn no_iteration_beyond_the_limit_is_started_counted_or_reported() {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reported);
    let runner = runner(|_: DispatchContext| async { Ok(()) })
        .iteration_limit(5)
        .observer(move |event: &Event| match event.kind {
            EventKind::IterationStart { iteration } => seen.lock().push(iteration),
            EventKind::DispatchEnd { iterations, .. } => seen.lock().push(100 + iterations),
            _ => {}
        });
    let outcome = runner.build().unwrap().run("go").await;
    let TurnStatus::Limit(Limit::Iterations(reached)) = outcome.status else {
        panic!("{:?}", outcome.status);
    };
    assert_eq!((reached, outcome.iterations), (5, 5));
    assert!(framework_texts(&outcome).is_empty());
    assert_eq!(*reported.lock(), [1, 2, 3, 4, 5, 105]);
    let error = outcome.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TURN_LIMIT);
}

#[tokio::test]
async fn the_last_iteration_is_announced_once_and_recorded() {
    let runner = calling("look", 3)
        .tool(plain("look"))
        .iteration_limit(3)
        .announce_last_iteration(true)
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    let texts = framework_texts(&outcome);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("last step of this turn"), "{texts:?}");
    let runner = calling("look", 1)
        .iteration_limit(1)
        .announce_last_iteration(true)
        .build()
        .unwrap();
    assert!(framework_texts(&runner.run("go").await).is_empty());
}

#[tokio::test]
async fn a_repeated_call_causes_a_warning_and_then_ends_the_turn() {
    let runner = calling("look", 60)
        .tool(plain("look"))
        .dispatch_input(repeated_call_guard(3))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    let TurnStatus::Limit(Limit::RepeatedCall { tool, times }) = &outcome.status else {
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
async fn a_model_that_heeds_the_warning_continues() {
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
async fn equal_concurrent_calls_cause_a_warning_before_the_turn_ends() {
    let runner = runner(|ctx: DispatchContext| async move {
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
        .dispatch_input(repeated_call_guard(2))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    let TurnStatus::Limit(Limit::RepeatedCall { tool, times: 3 }) = &outcome.status else {
        panic!("{outcome:?}");
    };
    assert!(!tool.contains('\u{202e}'), "{tool}");
}

#[tokio::test]
async fn repeatable_tools_are_exempt() {
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
        .dispatch_input(repeated_call_guard(3))
        .build()
        .unwrap();
    let mut chat = runner.conversation("chat");
    for _ in 0..3 {
        let outcome = chat.say("go").await;
        assert!(outcome.is_answered(), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_conflicting_stash_value_is_reported() {
    let runner = calling("look", 9)
        .tool(plain("look"))
        .dispatch_input(repeated_call_guard(2))
        .build()
        .unwrap();
    let outcome = runner
        .run(TurnInput::new("go").stash("turnwright", "mine"))
        .await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::DISPATCH_PIPELINE_ERROR);
    assert!(error.message().contains("E_INVALID_STASH_PATH"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_share_a_guard_and_a_budget_are_independent() {
    let runner = runner(|ctx: DispatchContext| async move {
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
    .budget(Budget::new().tokens(41))
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
                    outcome.status,
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
