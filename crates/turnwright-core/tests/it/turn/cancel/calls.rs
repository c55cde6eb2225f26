//! Calls of cancelled turns.

use turnwright_core::record::Record;
use turnwright_core::store::MemoryStore;
use turnwright_core::tool::Concurrency;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::always;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_running_tool_is_stopped_and_its_record_says_whether_it_may_have_taken_effect() {
    for way in WAYS {
        for (effects, text, states) in [
            (
                Effects::Writes,
                MAY_HAVE,
                vec![("act".to_owned(), "unknown")],
            ),
            (Effects::ReadOnly, READ_ONLY, vec![]),
        ] {
            let scene = Scene::new([Step::call_tool("act", "{}")], |builder, reached, _, _| {
                builder.tool(endless("act", reached).effects(effects).build())
            });
            let outcome = scene.call_off(way).await;
            scene.assert_clean(way, outcome.as_ref()).await;
            assert_eq!(scene.texts().await, [text], "{way:?}");
            assert_eq!(ledger(&*scene.store, "c").await, states, "{way:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_of_several_calls_is_closed_with_its_own_state() {
    for way in WAYS {
        let step = Step::call_tool("quick", "{}")
            .call("act", "{}")
            .call("look", "{}")
            .call("nonsense", "{}")
            .call("alone", "{}")
            .call("act", "{}");
        let scene = Scene::new([step], |builder, reached, _, _| {
            builder
                .tool(returning("quick", "done"))
                .tool(endless("act", reached).build())
                .tool(endless("look", reached).effects(Effects::ReadOnly).build())
                .tool(
                    endless("alone", reached)
                        .concurrency(Concurrency::Exclusive)
                        .build(),
                )
        });
        let outcome = scene.call_off(way).await;
        scene.assert_clean(way, outcome.as_ref()).await;
        let texts = scene.texts().await;
        assert_eq!(
            (&*texts[0], &*texts[1], &*texts[2]),
            ("done", MAY_HAVE, READ_ONLY),
            "{way:?}"
        );
        assert!(texts[3].contains("Unknown tool"));
        assert_eq!(
            (&*texts[4], &*texts[5]),
            (NOT_RUN, NOT_RUN),
            "those behind the barrier"
        );
        let ledger = ledger(&*scene.store, "c").await;
        assert_eq!(
            ledger,
            [("quick".to_owned(), "done"), ("act".to_owned(), "unknown")]
        );
        assert_eq!(scene.observed.of("toolExecutionStart").len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_the_concurrency_limit_was_not_run() {
    for way in WAYS {
        let step = Step::call_tool("act", "{}").call("act", "{}");
        let scene = Scene::new([step], |builder, reached, _, _| {
            builder
                .tool(endless("act", reached).build())
                .parallel_calls(1)
        });
        let outcome = scene.call_off(way).await;
        scene.assert_clean(way, outcome.as_ref()).await;
        assert_eq!(scene.texts().await, [MAY_HAVE, NOT_RUN]);
        let states: Vec<&str> = ledger(&*scene.store, "c")
            .await
            .iter()
            .map(|one| one.1)
            .collect();
        assert_eq!(states, ["unknown", "failed"], "begun, and never reached");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_approval_was_not_run() {
    for way in WAYS {
        for several in [false, true] {
            let mut step = Step::call_tool("act", "{}");
            if several {
                step = step.call("act", "{}");
            }
            let scene = Scene::new([step], |builder, reached, _, _| {
                let asked = Arc::clone(reached);
                builder
                    .tool(returning("act", "acted"))
                    .policy(always("careful"))
                    .approver(move |_: ApprovalRequest| {
                        asked.notify_one();
                        std::future::pending()
                    })
            });
            let outcome = scene.call_off(way).await;
            scene.assert_clean(way, outcome.as_ref()).await;
            let texts = scene.texts().await;
            assert_eq!(texts.len(), 1 + usize::from(several));
            for text in texts {
                assert!(
                    text.contains("cancelled") && text.to_lowercase().contains("was not run"),
                    "{text}"
                );
            }
            assert_eq!(ledger(&*scene.store, "c").await, [], "never begun");
            assert_eq!(scene.observed.of("toolExecutionStart").len(), 0);
        }
    }
}

#[tokio::test]
async fn nothing_runs_after_a_cancellation_even_if_the_executor_ignores_it() {
    let observed = Observed::default();
    let token = Cancellation::new();
    let off = token.clone();
    let executor = move |ctx: DispatchContext| {
        let off = off.clone();
        async move {
            off.cancel();
            let records = ctx
                .call_tools([ctx.propose("act", "{}"), ctx.propose("act", "{}")])
                .await;
            assert!(records.iter().all(|record| record.is_error()));
            ctx.call("act", "{}").await;
            Ok(())
        }
    };
    let notes = Notes::default();
    let runner = runner(executor)
        .tool(returning("act", "acted"))
        .dispatch_output(notes.layer("output"))
        .turn_output(notes.layer("turn-output"))
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("go").cancellation(token)).await;
    assert!(
        matches!(outcome.status, TurnStatus::Aborted { .. }),
        "{:?}",
        outcome.status
    );
    assert_eq!(observed.of("toolExecutionStart").len(), 0);
    assert_eq!(notes.all(), [""; 0]);
    assert!(
        outcome
            .tool_calls()
            .all(|call| call.is_complete() && call.is_error())
    );
}

#[tokio::test]
async fn a_call_whose_turn_is_cancelled_while_it_is_recorded_is_not_run() {
    let (token, observed) = (Cancellation::new(), Observed::default());
    // The second write is the started call.
    let store = Odd::store(1, How::Cancels(token.clone()));
    let runner = runner(ScriptedModel::new([Step::call_tool("act", "{}")]))
        .storage(storage_of(store.clone()))
        .tool(returning("act", "acted"))
        .observer(observed.observer())
        .build()
        .unwrap();
    let input = TurnInput::new("go").conversation("c").cancellation(token);
    let outcome = runner.run(input).await;
    assert!(matches!(outcome.status, TurnStatus::Aborted { .. }));
    assert_eq!(texts(&outcome).await, [NOT_RUN]);
    assert_eq!(
        ledger(&*store.store, "c").await,
        [("act".to_owned(), "failed")]
    );
    assert_eq!(observed.of("toolExecutionStart").len(), 0);
}

#[test]
fn only_a_dead_process_leaves_a_call_open_in_the_ledger() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    let (store, reached) = (Arc::new(MemoryStore::default()), Arc::new(Notify::new()));
    let runner = runner(ScriptedModel::new([Step::call_tool(
        "act",
        json!({ "n": 1 }),
    )]))
    .storage(storage_of(Arc::clone(&store)))
    .tool(endless("act", &reached).build())
    .build()
    .unwrap();
    let first = runtime();
    let turn = first.block_on(async {
        let turn = runner.start(TurnInput::new("go").conversation("c"));
        reached.notified().await;
        turn
    });
    drop(first);
    let outcome = runtime().block_on(turn.outcome());
    assert_eq!(code_of(&outcome), "E_TURN_ABORTED");
    runtime().block_on(async {
        assert_eq!(ledger(&*store, "c").await, [("act".to_owned(), "started")]);
        for record in store.records(&ConversationId::new("c")).await.unwrap() {
            match record {
                Record::ToolCall(call) => assert!(!call.is_complete()),
                Record::Ledger(entry) => assert_eq!(entry.args, json!({ "n": 1 })),
                _ => {}
            }
        }
    });
}

#[test]
fn a_call_left_open_is_unknown_for_the_model() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    let (store, reached) = (Arc::new(MemoryStore::default()), Arc::new(Notify::new()));
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("I see.")]);
    let runner = runner(model.clone())
        .storage(storage_of(Arc::clone(&store)))
        .tool(endless("act", &reached).build())
        .build()
        .unwrap();
    let input = || TurnInput::new("go").conversation("c");
    let first = runtime();
    let turn = first.block_on(async {
        let turn = runner.start(input());
        reached.notified().await;
        turn
    });
    drop((first, turn));
    runtime().block_on(async {
        runner.run(input()).await;
        let shown = model.request(1);
        let text = shown.tool_calls()[0].rendered();
        assert!(!text.contains("was not run"), "{text}");
        assert!(text.contains("may not have taken effect"), "{text}");
        // The turn was abandoned, and the store has what is known.
        assert_eq!(ledger(&*store, "c").await, [("act".to_owned(), "unknown")]);
        let turns = store.turns(&ConversationId::new("c")).await.unwrap();
        let states: Vec<&str> = turns.iter().map(|turn| turn.state.as_str()).collect();
        assert_eq!(states, ["abandoned", "answered"]);
    });
}
