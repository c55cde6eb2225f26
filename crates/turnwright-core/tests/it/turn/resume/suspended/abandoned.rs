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
