//! Answers that are recorded in the store.

use super::*;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::TurnGate;
use turnwright_core::store::TurnFilter;

/// The error code with which an answer is rejected.
async fn refused(runner: &TurnRunner, gate: &str, answer: impl Into<GateAnswer>) -> ErrorCode {
    let answered = runner.answer_gate(TALK, gate, answer).await;
    answered.unwrap_err().code()
}

#[test]
fn an_answer_is_checked_like_a_live_one_and_the_first_counts() {
    let world = World::default();
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        assert_eq!(
            refused(&runner, "none", GateAnswer::approve()).await,
            ErrorCode::UNKNOWN_TURN_GATE
        );
        let nowhere = runner
            .answer_gate("elsewhere", &id, GateAnswer::approve())
            .await;
        assert_eq!(nowhere.unwrap_err().code(), ErrorCode::UNKNOWN_TURN_GATE);

        let invalid = ErrorCode::INVALID_TURN_GATE_RESOLUTION;
        assert_eq!(refused(&runner, &id, json!("yes")).await, invalid);
        assert_eq!(
            refused(&runner, &id, json!({ "decision": "perhaps" })).await,
            invalid
        );
        // The tool of the runner defines which arguments are valid.
        let dear = GateAnswer::edit(json!({ "amount": 1000 }));
        assert_eq!(refused(&runner, &id, dear).await, invalid);
        assert_eq!(
            world.gate_states().await,
            [GateState::Open],
            "it is still open"
        );

        let second = world.paying(&answers()).build().unwrap();
        let turn = second.answer_gate(TALK, &id, GateAnswer::approve()).await;
        assert_eq!(
            refused(&runner, &id, GateAnswer::deny("no")).await,
            ErrorCode::TURN_GATE_ANSWERED
        );
        assert!(turn.unwrap().await.is_answered());
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn invalid_edited_arguments_are_found_on_resume_at_the_latest() {
    let world = World::default();
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        // The store does not know the tool.
        let dear = GateAnswer::edit(json!({ "amount": 1000 }));
        let recorded = world.storage().answer_gate(TALK, &id, dear).await;
        recorded.unwrap();
        let again = runner.resume(TURN).await.unwrap().await;
        assert_eq!(gates_of(&again)[0].id, id, "it is asked again");
        assert!(world.runs.all().is_empty());
        let recorded = world
            .storage()
            .answer_gate(TALK, &id, GateAnswer::approve())
            .await;
        recorded.unwrap();
    });
}

#[test]
fn the_stored_schema_of_a_gate_is_enforced() {
    let world = World::default();
    let gate = || {
        let street = schema::string().required();
        let schema = schema::object().field("street", street);
        TurnGate::new("address").schema(schema).build().unwrap()
    };
    let asks = move |ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.wait_for(gate()).await?;
        next.run().await
    };
    let runner = world
        .runner(&answers())
        .turn_input(asks)
        .suspend_at_gates()
        .build()
        .unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        let invalid = ErrorCode::INVALID_TURN_GATE_RESOLUTION;
        assert_eq!(
            refused(&runner, &id, json!({ "street": 7.5 })).await,
            invalid
        );
        assert_eq!(refused(&runner, &id, GateAnswer::approve()).await, invalid);
        let turn = runner
            .answer_gate(TALK, &id, json!({ "street": "Elm" }))
            .await;
        assert!(turn.unwrap().await.is_answered());
    });
}

#[test]
fn a_recorded_answer_reaches_a_turn_in_memory() {
    let world = World::default();
    process().block_on(async {
        let model = ScriptedModel::new([
            Step::call_tool("pay", r#"{"amount": 7}"#),
            Step::say("All is well."),
        ]);
        let runner = world.paying(&model).build().unwrap();
        let turn = runner.start(go_input());
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        let storage = world.storage();
        // Its record may be written a moment after the gate opens.
        while storage
            .answer_gate(TALK, &gate.id, GateAnswer::approve())
            .await
            .is_err()
        {
            tokio::task::yield_now().await;
        }
        let outcome = turn.await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(texts(&outcome).await, ["paid 7"]);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_concurrent_answers_counts() {
    for _ in 0..20 {
        let world = World::default();
        let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
        let outcome = runner.run(go_input()).await;
        let id = gates_of(&outcome)[0].id.clone();
        let answer = |answer: GateAnswer| {
            let (storage, id) = (world.storage(), id.clone());
            tokio::spawn(async move { storage.answer_gate(TALK, &id, answer).await })
        };
        let (yes, no) = (
            answer(GateAnswer::approve()),
            answer(GateAnswer::deny("no")),
        );
        let (yes, no) = (yes.await.unwrap(), no.await.unwrap());
        assert_ne!(yes.is_ok(), no.is_ok());
        let second = world.paying(&answers()).build().unwrap();
        assert!(second.resume(TURN).await.unwrap().await.is_answered());
        assert_eq!(world.runs.all().len(), usize::from(yes.is_ok()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_answer_that_races_with_the_suspension_is_never_lost() {
    for _ in 0..50 {
        let world = World::default();
        let model = ScriptedModel::new([
            Step::call_tool("pay", r#"{"amount": 7}"#),
            Step::say("All is well."),
        ]);
        let runner = world.paying(&model).build().unwrap();
        let turn = runner.start(go_input());
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        let answering = tokio::spawn(async move { gates.approve(&gate.id).unwrap() });
        turn.suspend().unwrap();
        let mut outcome = turn.await;
        let taken = answering.await.unwrap();
        if outcome.is_suspended() {
            let waiting = gates_of(&outcome);
            assert_ne!(
                taken,
                !waiting.is_empty(),
                "an answer that was taken counts"
            );
            let turn = match &waiting[..] {
                [gate] => {
                    runner
                        .answer_gate(TALK, &gate.id, GateAnswer::approve())
                        .await
                }
                _ => runner.resume(TURN).await,
            };
            outcome = turn.unwrap().await;
        }
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(world.runs.all().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_answer_by_the_runner_that_races_with_the_suspension_continues_the_turn() {
    for _ in 0..50 {
        let world = World::default();
        let model = ScriptedModel::new([
            Step::call_tool("pay", r#"{"amount": 7}"#),
            Step::say("All is well."),
        ]);
        let runner = world.paying(&model).build().unwrap();
        let turn = runner.start(go_input());
        let gate = turn.gates().next().await.unwrap();
        let answering = {
            let runner = runner.clone();
            tokio::spawn(async move {
                loop {
                    // Its record may come a moment after the gate.
                    match runner
                        .answer_gate(TALK, &gate.id, GateAnswer::approve())
                        .await
                    {
                        Ok(turn) => return turn.await,
                        Err(error) => assert_eq!(error.code(), ErrorCode::UNKNOWN_TURN_GATE),
                    }
                    tokio::task::yield_now().await;
                }
            })
        };
        turn.suspend().unwrap();
        let first = turn.await;
        let mut outcome = answering.await.unwrap();
        if outcome.is_suspended() {
            // The answer was heard, and the turn was suspended before its next step.
            assert!(first.is_suspended() && gates_of(&outcome).is_empty());
            outcome = runner.resume(TURN).await.unwrap().await;
        }
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(world.runs.all().len(), 1);
    }
}

#[test]
fn the_answered_turn_is_replayed_and_waits_again_if_other_gates_are_open() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", r#"{"amount": 1}"#).call("pay", r#"{"amount": 2}"#),
        Step::say("All is well."),
    ]);
    process().block_on(async {
        let runner = world.paying(&model).suspend_at_gates().build().unwrap();
        let gates = gates_of(&runner.run(go_input()).await);
        let [one, two] = &gates[..] else {
            panic!("{gates:?}")
        };
        let mut turn = runner
            .answer_gate(TALK, &one.id, GateAnswer::approve())
            .await
            .unwrap();
        let mut last = None;
        while let Some(event) = turn.next().await {
            last = Some(event);
        }
        let EventKind::TurnEnd { status, gates, .. } = last.unwrap().kind else {
            panic!("no end")
        };
        assert_eq!(status, TurnState::Suspended);
        assert_eq!((gates.len(), &gates[0].id), (1, &two.id));
        assert_eq!(
            gates[0].opened_at, two.opened_at,
            "it has been open all the time"
        );
        assert_eq!(
            world.runs.all().len(),
            1,
            "the first call ran before the second answer"
        );

        let mut turn = runner
            .answer_gate(TALK, &two.id, GateAnswer::approve())
            .await
            .unwrap();
        let mut names = Vec::new();
        while let Some(event) = turn.next().await {
            names.push(event.name());
        }
        assert!(turn.await.is_answered());
        let calls = names.iter().filter(|name| **name == "toolCall").count();
        assert_eq!(calls, 2, "what the turn did before is replayed: {names:?}");
        assert_eq!(world.runs.all().len(), 2);
    });
}

#[test]
fn an_answer_at_a_live_turn_attaches_to_it() {
    let world = World::default();
    process().block_on(async {
        let model = ScriptedModel::new([
            Step::call_tool("pay", r#"{"amount": 7}"#),
            Step::say("All is well."),
        ]);
        let runner = world.paying(&model).build().unwrap();
        let turn = runner.start(go_input());
        let gate = turn.gates().next().await.unwrap();
        while world.gate_states().await.is_empty() {
            tokio::task::yield_now().await;
        }
        let second = runner
            .answer_gate(TALK, &gate.id, GateAnswer::approve())
            .await;
        assert_eq!(second.unwrap().await.text, "All is well.");
        assert!(turn.await.is_answered());
        assert_eq!(world.state().await, ("answered", 1), "it ran once");
    });
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_a_turn_that_runs_elsewhere_follows_it() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", r#"{"amount": 7}"#),
        Step::say("All is well."),
    ]);
    let elsewhere = world.paying(&model).build().unwrap();
    let turn = elsewhere.start(go_input());
    let gate = turn.gates().next().await.unwrap();
    while world.gate_states().await.is_empty() {
        tokio::task::yield_now().await;
    }
    let runner = world.paying(&answers()).build().unwrap();
    let followed = runner.answer_gate(TALK, &gate.id, GateAnswer::approve());
    let mut followed = followed.await.unwrap();
    while followed.next().await.is_some() {}
    followed.cancel().expect("it has ended: no effect");
    assert_eq!(followed.activity(), TurnActivity::Ended);
    assert_eq!(followed.await.text, "All is well.");
    assert!(turn.await.is_answered());
    assert_eq!(world.state().await, ("answered", 1), "it ran once");
}

/// Starts a turn. Returns it when it waits at its gate.
async fn waits_at_its_gate(world: &World) -> (Arc<str>, Turn) {
    let runner = world.paying(&pays()).build().unwrap();
    let turn = runner.start(go_input());
    let gate = turn.gates().next().await.unwrap();
    while world.gate_states().await.is_empty() {
        tokio::task::yield_now().await;
    }
    (gate.id, turn)
}

#[test]
fn an_answer_at_a_turn_whose_process_died_resumes_it() {
    let world = World::default();
    let first = process();
    let (gate, turn) = first.block_on(waits_at_its_gate(&world));
    drop((first, turn));
    process().block_on(async {
        let runner = world.paying(&answers()).build().unwrap();
        let turn = runner.answer_gate(TALK, &gate, GateAnswer::approve()).await;
        assert_eq!(turn.unwrap().await.text, "All is well.");
        assert_eq!(world.state().await, ("answered", 2));
        assert_eq!(world.runs.all().len(), 1);
    });
}

/// Answers at the gate of a turn whose process dies right after. The turn is resumed, and its model proposes another payment. Returns
/// the turn when it waits for that.
fn followed_and_resumed(world: &World, second: &Runtime) -> Turn {
    let first = process();
    let (gate, waits) = first.block_on(waits_at_its_gate(world));
    let next = ScriptedModel::new([
        Step::call_tool("pay", r#"{"amount": 9}"#),
        Step::say("All is well."),
    ]);
    let runner = world.paying(&next).build().unwrap();
    let answered = runner.answer_gate(TALK, &gate, GateAnswer::approve());
    let mut turn = second.block_on(answered).unwrap();
    assert_eq!(turn.activity(), TurnActivity::Elsewhere);
    assert_eq!(turn.cancel().unwrap_err().code(), ErrorCode::TURN_HELD);
    assert_eq!(turn.suspend().unwrap_err().code(), ErrorCode::TURN_HELD);
    drop((first, waits));
    second.block_on(async {
        loop {
            match turn.next().await.expect("it waits again").kind {
                EventKind::GateOpened(opened) if opened.id != gate => return,
                _ => {}
            }
        }
    });
    turn
}

#[test]
fn a_followed_turn_that_is_resumed_here_can_be_answered_suspended_and_cancelled() {
    let second = process();
    let world = World::default();
    let turn = followed_and_resumed(&world, &second);
    assert_ne!(turn.activity(), TurnActivity::Elsewhere);
    let gates = turn.gates();
    assert!(gates.approve(&gates.open()[0].id).unwrap());
    assert!(second.block_on(turn.outcome()).is_answered());
    assert_eq!(world.runs.all().len(), 2);

    let turn = followed_and_resumed(&World::default(), &second);
    turn.suspend().unwrap();
    assert_eq!(gates_of(&second.block_on(turn.outcome())).len(), 1);

    let turn = followed_and_resumed(&World::default(), &second);
    turn.cancel().unwrap();
    let status = second.block_on(turn.outcome()).status;
    assert!(matches!(status, TurnStatus::Aborted { .. }), "{status}");
}

#[test]
fn a_gate_that_a_resumed_turn_no_longer_comes_to_is_closed() {
    let world = World::default();
    let pay = |text: &str| {
        let runs = world.runs.clone();
        tool("pay")
            .description(text)
            .approval(always("it costs"))
            .handler(move |_: Value, ctx: ToolContext| {
                runs.note(ctx.idempotency_key());
                async { "paid" }
            })
    };
    let first = world.runner(&pays()).tool(pay("Pays.").build());
    let before = suspend(&first.suspend_at_gates().build().unwrap());
    process().block_on(async {
        // Another tool of the same name: what was asked before is not what is asked now.
        let second = world.runner(&answers()).tool(pay("Pays twice.").build());
        let second = second.suspend_at_gates().build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        let now = gates_of(&outcome).remove(0).id;
        assert_ne!(now, before);
        let waiting = world.storage().waiting(&TurnFilter::all()).await.unwrap();
        let shown: Vec<_> = waiting[0].gates.iter().map(|gate| &gate.id).collect();
        assert_eq!(shown, [&now], "the old question is not shown any more");
        let late = refused(&second, &before, GateAnswer::approve()).await;
        assert_eq!(late, ErrorCode::TURN_GATE_CLOSED);
        let turn = second.answer_gate(TALK, &now, GateAnswer::approve()).await;
        assert!(turn.unwrap().await.is_answered());
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn a_turn_whose_reader_disconnects_still_waits_for_its_approval() {
    let world = World::default();
    let steps = [
        Step::call_tool("pay", r#"{"amount": 7}"#),
        Step::say("done"),
    ];
    let runner = world.paying(&ScriptedModel::new(steps)).build().unwrap();
    process().block_on(async {
        let mut turn = runner.start(go_input());
        let gate = loop {
            let event = turn.next().await.expect("the turn waits");
            if let EventKind::GateOpened(gate) = event.kind {
                break gate;
            }
        };
        drop(turn);
        let turn = runner.answer_gate(TALK, &gate.id, GateAnswer::approve());
        assert!(turn.await.unwrap().await.is_answered());
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn an_open_gate_survives_a_resume_that_is_awaited() {
    let world = World::default();
    let first = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&first);
    let observed = Observed::default();
    let second = world.paying(&answers()).observer(observed.observer());
    let second = second.build().unwrap();
    process().block_on(async {
        // The caller holds no gates. The answer comes through the store, once the turn waits at its gate again.
        let ended = tokio::spawn(async move { second.resume(TURN).await.unwrap().await });
        while observed.of("turnGateOpen").is_empty() && !ended.is_finished() {
            tokio::task::yield_now().await;
        }
        let storage = world.storage();
        let answered = storage.answer_gate(TALK, &id, GateAnswer::approve()).await;
        let outcome = ended.await.unwrap();
        answered.unwrap();
        assert!(outcome.is_answered(), "{outcome:?}");
        assert_eq!(world.runs.all().len(), 1);
    });
}
