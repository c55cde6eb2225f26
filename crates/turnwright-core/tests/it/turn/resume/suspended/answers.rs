//! Answers that are recorded in the store.

use super::*;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::TurnGate;
use turnwright_core::record::Record;
use turnwright_core::record::RecordKind;

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

        runner
            .answer_gate(TALK, &id, GateAnswer::approve())
            .await
            .unwrap();
        assert_eq!(
            refused(&runner, &id, GateAnswer::deny("no")).await,
            ErrorCode::TURN_GATE_ANSWERED
        );
        let outcome = world
            .paying(&answers())
            .build()
            .unwrap()
            .resume(TURN)
            .await
            .unwrap()
            .await;
        assert!(outcome.is_answered());
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
        world
            .store
            .answer_gate(&ConversationId::new(TALK), &id, dear)
            .await
            .unwrap();
        let again = runner.resume(TURN).await.unwrap().await;
        assert_eq!(gates_of(&again)[0].id, id, "it is asked again");
        assert!(world.runs.all().is_empty());
        runner
            .answer_gate(TALK, &id, GateAnswer::approve())
            .await
            .unwrap();
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
        runner
            .answer_gate(TALK, &id, json!({ "street": "Elm" }))
            .await
            .unwrap();
        assert!(runner.resume(TURN).await.unwrap().await.is_answered());
    });
}

/// Moves the times of the only gate back by an hour.
async fn age(world: &World) {
    let talk = ConversationId::new(TALK);
    let gate = world.store.gates(&talk).await.unwrap().remove(0);
    let mut value = Record::from(gate).to_value().unwrap();
    for field in ["openedAt", "closedAt"] {
        if !value[field].is_null() {
            value[field] = "2020-01-01T00:00:00.000000000Z".into();
        }
    }
    let resolver = record::ByteResolver::new(Arc::new(spool::MemorySpool::default()));
    let old = Record::from_value(RecordKind::Gate, &value, &resolver).unwrap();
    world.store.put(&talk, old).await.unwrap();
}

#[test]
fn an_expired_gate_accepts_no_answer_and_a_stale_answer_is_ignored() {
    let world = World::default();
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        age(&world).await;
        let late = ErrorCode::TURN_GATE_TIMEOUT;
        assert_eq!(refused(&runner, &id, GateAnswer::approve()).await, late);
        // The resumed turn asks again, with the complete timeout.
        assert!(runner.resume(TURN).await.unwrap().await.is_suspended());
        runner
            .answer_gate(TALK, &id, GateAnswer::approve())
            .await
            .unwrap();
        age(&world).await;
        let again = runner.resume(TURN).await.unwrap().await;
        assert_eq!(gates_of(&again)[0].id, id);
        assert!(world.runs.all().is_empty());
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
        let other = world.paying(&answers()).build().unwrap();
        // Its record may be written a moment after the gate opens.
        while other
            .answer_gate(TALK, &gate.id, GateAnswer::approve())
            .await
            .is_err()
        {
            tokio::task::yield_now().await;
        }
        let outcome = turn.await;
        assert!(outcome.is_answered(), "{}", outcome.ended);
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
            let (runner, id) = (runner.clone(), id.clone());
            tokio::spawn(async move { runner.answer_gate(TALK, &id, answer).await })
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
            for gate in waiting {
                let answered = runner.answer_gate(TALK, &gate.id, GateAnswer::approve());
                answered.await.unwrap();
            }
            outcome = runner.resume(TURN).await.unwrap().await;
        }
        assert!(outcome.is_answered(), "{}", outcome.ended);
        assert_eq!(world.runs.all().len(), 1);
    }
}
