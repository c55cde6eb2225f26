//! Reconciling calls that had started.

use super::*;
use turnwright_core::gate::GateKind;
use turnwright_core::tool::reconcile::{Finding, UnknownCall, ask_operator};

/// A store with a payment that was started by a process that died.
fn begun() -> World {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let pay = world.endless("pay", &reached).build();
    let first = world.runner(&calls("pay")).tool(pay).build().unwrap();
    world.die(&first, &reached);
    world
}

#[test]
fn a_tool_reconciles_by_idempotency_key() {
    let world = begun();
    process().block_on(async {
        let asked = Notes::default();
        let pay = {
            let asked = asked.clone();
            world.acting("pay").reconcile(move |call: UnknownCall| {
                asked.note(format!(
                    "{} {} {}",
                    call.idempotency_key(),
                    call.tool_name(),
                    call.args()
                ));
                async { Ok::<_, BoxError>(Finding::done("receipt 17")) }
            })
        };
        let model = answers();
        let second = world.runner(&model).tool(pay.build()).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered());
        assert_eq!(texts(&outcome).await, ["receipt 17"]);
        assert!(
            model.request(0).tool_calls()[0]
                .rendered()
                .contains("receipt 17")
        );
        let ran = world.runs.all();
        assert_eq!(ran.len(), 1);
        assert_eq!(asked.all(), [format!("{} pay {{}}", ran[0])]);
        assert_eq!(world.ledger().await, [("pay".to_owned(), "done")]);
    });
}

#[test]
fn a_call_that_did_not_take_effect_runs_again_with_the_same_key() {
    let world = begun();
    process().block_on(async {
        let pay = world
            .acting("pay")
            .reconcile(|_: UnknownCall| async { Ok::<_, BoxError>(Finding::NotDone) });
        let second = world.runner(&answers()).tool(pay.build()).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert_eq!(texts(&outcome).await, ["pay is done"]);
        let runs = world.runs.all();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0], runs[1]);
        assert_eq!(world.ledger().await, [("pay".to_owned(), "done")]);
    });
}

#[test]
fn ask_operator_reconciles_if_the_tool_cannot() {
    for (answer, shown_text, state, runs) in [
        (
            json!({ "found": "done", "result": "It is paid." }),
            "It is paid.",
            "done",
            1,
        ),
        (
            json!({ "found": "done" }),
            "An operator confirmed",
            "done",
            1,
        ),
        (json!({ "found": "not_done" }), "pay is done", "done", 2),
        (
            json!({ "found": "unknown" }),
            "may not have taken effect",
            "unknown",
            1,
        ),
    ] {
        let world = begun();
        process().block_on(async {
            let failing = |_: UnknownCall| async {
                Err::<Finding, BoxError>("the bank does not answer".into())
            };
            let told_of = Observed::default();
            let pay = world.acting("pay").reconcile(failing).build();
            let second = world.runner(&answers()).tool(pay);
            let second = second
                .unknown_calls(ask_operator())
                .observer(told_of.observer());
            let turn = second.build().unwrap().resume(TURN).await.unwrap();
            let gates = turn.gates();
            let open = opened(&gates).await;
            assert_eq!(open[0].kind, GateKind::UnknownCall);
            assert_eq!(open[0].question["tool"], "pay");
            assert!(
                gates
                    .answer(&open[0].id, json!({ "found": "perhaps" }))
                    .is_err()
            );
            assert!(gates.answer(&open[0].id, answer.clone()).unwrap());
            let outcome = turn.await;
            let text = texts(&outcome).await.remove(0);
            assert!(text.contains(shown_text), "{answer}: {text}");
            assert_eq!(world.ledger().await, [("pay".to_owned(), state)]);
            assert_eq!(world.runs.all().len(), runs, "{answer}");
            let warned = told_of.of("warning");
            assert!(
                warned[0]["message"]
                    .as_str()
                    .unwrap()
                    .contains("the bank does not answer")
            );
        });
    }
}

#[test]
fn without_an_answer_the_call_stays_unknown() {
    let world = begun();
    process().block_on(async {
        let pay = world.acting("pay").build();
        let second = world
            .runner(&answers())
            .tool(pay)
            .unknown_calls(ask_operator());
        let turn = second.build().unwrap().resume(TURN).await.unwrap();
        // Awaited as a whole, so no gates handle is held.
        assert!(turn.await.is_answered());
        assert_eq!(world.ledger().await, [("pay".to_owned(), "unknown")]);
    });
}

#[test]
fn a_panicking_reconciler_fails_the_turn_and_the_next_one_closes_the_call() {
    let world = begun();
    process().block_on(async {
        let panics = |_: UnknownCall| async { panic!("on purpose") };
        let pay = world.acting("pay");
        let pay = pay.reconcile(move |call: UnknownCall| async move {
            let found: Result<Finding, BoxError> = panics(call).await;
            found
        });
        let second = world.runner(&answers()).tool(pay.build()).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        let error = outcome.error().unwrap();
        assert!(error.message().contains("on purpose"), "{error}");
        assert_eq!(world.ledger().await, [("pay".to_owned(), "started")]);
        let outcome = second.run(TurnInput::new("hello").conversation(TALK)).await;
        assert!(outcome.is_answered());
        assert_eq!(world.ledger().await, [("pay".to_owned(), "unknown")]);
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn a_turn_cancelled_during_reconciliation_leaves_the_call_unknown() {
    let world = begun();
    process().block_on(async {
        let runner = |model: &ScriptedModel| {
            let pay = world.acting("pay").build();
            let runner = world.runner(model).tool(pay);
            runner.unknown_calls(ask_operator()).build().unwrap()
        };
        let turn = runner(&answers()).resume(TURN).await.unwrap();
        let gates = turn.gates();
        opened(&gates).await;
        turn.cancel().unwrap();
        assert_eq!(turn.await.status.as_str(), "aborted");
        assert_eq!(world.ledger().await, [("pay".to_owned(), "started")]);
        // The operator is asked again and can still answer.
        let turn = runner(&answers()).resume(TURN).await.unwrap();
        let gates = turn.gates();
        let id = opened(&gates).await[0].id.clone();
        gates.answer(&id, json!({ "found": "done" })).unwrap();
        assert!(turn.await.is_answered());
        assert_eq!(world.ledger().await, [("pay".to_owned(), "done")]);
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn an_unknown_call_is_closed_by_the_next_turn() {
    let world = begun();
    process().block_on(async {
        let second = world.runner(&answers()).tool(world.acting("pay").build());
        let second = second.unknown_calls(ask_operator()).build().unwrap();
        let turn = second.resume(TURN).await.unwrap();
        let gates = turn.gates();
        opened(&gates).await;
        turn.cancel().unwrap();
        turn.await;
        let outcome = second.run(TurnInput::new("hello").conversation(TALK)).await;
        assert!(outcome.is_answered());
        assert_eq!(world.ledger().await, [("pay".to_owned(), "unknown")]);
    });
}
