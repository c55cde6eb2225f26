//! A new message while a turn is suspended.

use super::*;
use turnwright_core::gate::GateAnswer;

fn more() -> TurnInput {
    TurnInput::new("something else")
        .conversation(TALK)
        .turn_id("turn-2")
}

#[test]
fn a_new_message_fails_and_the_error_has_the_turn_and_its_gates() {
    let world = World::default();
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        let before = world.conversation_id().await.len();
        let error = error_of(&runner.run(more()).await);
        assert_eq!(error.code(), ErrorCode::TURN_WAITING);
        let waiting = error.find_cause::<TurnWaiting>().unwrap();
        assert_eq!((&*waiting.turn_id, &waiting.gates[0].id), (TURN, &id));
        assert_eq!(
            world.conversation_id().await.len(),
            before,
            "nothing was stored"
        );
        // The suspended turn is not affected.
        let second = world.paying(&answers()).build().unwrap();
        let turn = second.answer_gate(TALK, &id, GateAnswer::approve()).await;
        assert!(turn.unwrap().await.is_answered());
        assert!(
            world
                .paying(&answers())
                .build()
                .unwrap()
                .run(more())
                .await
                .is_answered()
        );
    });
}

#[test]
fn abandon_waiting_closes_the_old_turn_and_starts_a_new_one() {
    let world = World::default();
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        let second = world.paying(&answers()).build().unwrap();
        let outcome = second.run(more().abandon_suspended()).await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(world.state().await.0, "abandoned");
        assert_eq!(world.gate_states().await, [GateState::Unanswered]);
        let call = &world.calls().await[0];
        assert!(call.is_complete() && call.is_error());
        assert!(call.text().await.unwrap().contains("not approved"));
        assert!(world.runs.all().is_empty() && world.ledger().await.is_empty());

        let late = second
            .answer_gate(TALK, &id, GateAnswer::approve())
            .await
            .unwrap_err();
        assert_eq!(late.code(), ErrorCode::TURN_GATE_CLOSED);
        let resumed = second.resume(TURN).await.unwrap().await;
        assert_eq!(code_of(&resumed), "E_TURN_NOT_RESUMABLE");
    });
}

/// The last event of a turn, as JSON.
async fn ended(mut turn: Turn) -> Value {
    let mut last = Value::Null;
    while let Some(event) = turn.next().await {
        last = serde_json::to_value(&event).unwrap();
    }
    last
}

#[test]
fn the_last_event_of_a_turn_that_cannot_start_has_the_message_the_turn_and_its_gates() {
    let world = World::default();
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        let event = ended(runner.start(more())).await;
        assert_eq!(event["code"], "E_TURN_WAITING");
        assert_eq!(event["blockedBy"], TURN);
        assert_eq!(event["gates"][0]["id"], &*id);
        let message = event["message"].as_str().unwrap();
        assert!(message.contains(&*id) && !message.contains("answer_gate"));
        // The suspended turn is blocked by no other one.
        let event = ended(runner.attach(TALK, TURN).await.unwrap()).await;
        assert_eq!(event["gates"][0]["id"], &*id);
        assert!(event["message"].as_str().unwrap().contains(&*id));
        assert_eq!(event.get("blockedBy"), None);
    });
}

#[tokio::test(start_paused = true)]
async fn a_new_message_fails_at_once_while_a_turn_waits_in_memory() {
    let world = World::default();
    let runner = world.paying(&pays()).build().unwrap();
    let turn = runner.start(go_input());
    let mut gates = turn.gates();
    let gate = gates.next().await.unwrap();
    let before = tokio::time::Instant::now();
    let event = ended(runner.start(more())).await;
    // Of the paused clock.
    assert!(before.elapsed().is_zero());
    assert_eq!(
        (
            &event["code"],
            &event["blockedBy"],
            &event["gates"][0]["id"]
        ),
        (&json!("E_TURN_WAITING"), &json!(TURN), &json!(&*gate.id))
    );
    let message = event["message"].as_str().unwrap();
    assert!(message.contains(&*gate.id), "{message}");
    // The waiting turn is not affected. After it was cancelled, the next one waits for its end.
    turn.cancel().unwrap();
    let next = world.paying(&answers()).build().unwrap();
    assert!(next.run(more()).await.is_answered());
    assert!(matches!(turn.await.status, TurnStatus::Aborted { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_new_message_fails_at_once_while_an_approver_of_this_process_is_asked() {
    let world = World::default();
    let asked = Arc::new(Notify::new());
    let reached = Arc::clone(&asked);
    let model = ScriptedModel::new([
        Step::call_tool("pay", r#"{"amount": 7}"#),
        Step::say("paid"),
    ]);
    let decided = Arc::new(Notify::new());
    let decision = Arc::clone(&decided);
    let runner = world.paying(&model).approver(move |_| {
        let (reached, decided) = (Arc::clone(&reached), Arc::clone(&decision));
        async move {
            reached.notify_one();
            decided.notified().await;
            tool::approval::GateAnswer::approve()
        }
    });
    let runner = runner.build().unwrap();
    let turn = runner.start(go_input());
    asked.notified().await;
    let error = runner.run(more()).await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TURN_HELD);
    decided.notify_one();
    assert_eq!(turn.await.text, "paid");
}
