//! Suspended turns. Each is resumed by another process.

mod abandoned;
mod answered_by;
mod answers;
mod events;
mod every_write;
mod layers;
mod listed;
mod timeouts;
mod while_working;

use super::*;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::GateKind;
use turnwright_core::gate::{OpenGate, TurnActivity, TurnWaiting};
use turnwright_core::record::{GateState, TurnState};
use turnwright_core::tool::approval::always;

impl World {
    /// A runner with the tool `pay`, which requires approval.
    fn paying(&self, model: &ScriptedModel) -> TurnRunnerBuilder {
        let pay = Tool::dynamic(
            "pay",
            json!({
                "type": "object", "properties": { "amount": { "type": "integer", "maximum": 100 } },
            }),
        );
        let runs = self.runs.clone();
        let pay = pay
            .description("Of a test.")
            .approval(always("it costs"))
            .handler(move |args: Value, ctx: ToolContext| {
                let runs = runs.clone();
                async move {
                    runs.note(ctx.idempotency_key());
                    format!("paid {}", args["amount"])
                }
            });
        self.runner(model).tool(pay.build())
    }

    fn storage(&self) -> Storage {
        storage_of(Arc::clone(&self.store))
    }

    async fn lease(&self) -> bool {
        let lease = self.store.lease(&ConversationId::new(TALK)).await.unwrap();
        !lease.unwrap().is_released()
    }

    async fn gate_states(&self) -> Vec<GateState> {
        let gates = self.store.gates(&ConversationId::new(TALK)).await.unwrap();
        gates.iter().map(|gate| gate.state.clone()).collect()
    }
}

fn pays() -> ScriptedModel {
    ScriptedModel::new([Step::call_tool("pay", r#"{"amount": 7}"#)])
}

/// The gates of a turn that must have been suspended.
#[track_caller]
fn gates_of(outcome: &TurnOutcome) -> Vec<OpenGate> {
    match &outcome.status {
        TurnStatus::Suspended { gates, .. } => gates.clone(),
        other => panic!("it ended {other}"),
    }
}

/// Runs the turn until it is suspended at its only gate, in its own process.
fn suspend(runner: &TurnRunner) -> Arc<str> {
    let outcome = process().block_on(runner.run(go_input()));
    let [gate] = &gates_of(&outcome)[..] else {
        panic!("not one gate")
    };
    gate.id.clone()
}

#[test]
fn a_turn_that_can_only_wait_ends_as_suspended_and_is_stored_without_a_lease() {
    let world = World::default();
    let first = world.paying(&pays()).suspend_at_gates().build().unwrap();
    process().block_on(async {
        // No gates handle is held, which is no reason to deny the call.
        let outcome = first.run(go_input()).await;
        let gates = gates_of(&outcome);
        assert_eq!((gates.len(), &gates[0].kind), (1, &GateKind::Approval));
        assert_eq!(gates[0].question["args"], json!({ "amount": 7 }));
        assert_eq!(outcome.status.as_str(), "suspended");
        let error = outcome.clone().into_answer().unwrap_err();
        assert_eq!(error.code(), ErrorCode::TURN_WAITING);
        let waiting = error.find_cause::<TurnWaiting>().unwrap();
        assert_eq!((&*waiting.turn_id, &*waiting.conversation), (TURN, TALK));
        assert_eq!(waiting.gates[0].id, gates[0].id);

        assert_eq!(world.state().await, ("suspended", 1));
        assert!(!world.lease().await);
        assert_eq!(world.gate_states().await, [GateState::Open]);
        assert!(!world.calls().await[0].is_complete());
        assert!(world.ledger().await.is_empty(), "nothing has begun");
        assert!(world.runs.all().is_empty());
    });
}

#[test]
fn resume_continues_with_the_recorded_answer_in_another_process() {
    for (answer, ran, text) in [
        (GateAnswer::approve(), 1, "paid 7"),
        (GateAnswer::edit(json!({ "amount": 3 })), 1, "paid 3"),
        (GateAnswer::deny("too dear"), 0, "too dear"),
        (GateAnswer::reject("not today"), 0, "not today"),
    ] {
        let world = World::default();
        let first = world.paying(&pays()).suspend_at_gates().build().unwrap();
        let id = suspend(&first);
        drop(first);
        // Any process with the store can record the answer. It needs neither tools nor a model.
        process().block_on(async {
            let answered = world.storage().answer_gate(TALK, &id, answer).await;
            answered.unwrap();
            assert_eq!(world.state().await, ("suspended", 1));
        });
        process().block_on(async {
            let second = world.paying(&answers()).suspend_at_gates().build().unwrap();
            let outcome = second.resume(TURN).await.unwrap().await;
            assert!(outcome.is_answered(), "{}", outcome.status);
            assert!(texts(&outcome).await[0].contains(text));
            assert_eq!(world.runs.all().len(), ran);
            assert_eq!(world.state().await, ("answered", 2));
        });
    }
}

#[test]
fn open_gates_are_waited_for_again_with_the_same_ids() {
    let world = World::default();
    let first = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&first);
    process().block_on(async {
        let second = world.paying(&answers()).suspend_at_gates().build().unwrap();
        let again = second.resume(TURN).await.unwrap().await;
        assert_eq!(gates_of(&again)[0].id, id);
        assert_eq!(world.state().await, ("suspended", 2));
    });
    process().block_on(async {
        let third = world.paying(&answers()).build().unwrap();
        let turn = third.resume(TURN).await.unwrap();
        let gates = turn.gates();
        assert_eq!(opened(&gates).await[0].id, id);
        assert!(gates.approve(&id).unwrap());
        assert!(turn.await.is_answered());
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn a_turn_without_a_conversation_cannot_be_suspended() {
    let world = World::default();
    process().block_on(async {
        let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
        let turn = runner.start("go");
        let error = turn.suspend().unwrap_err();
        assert_eq!(error.code(), ErrorCode::TURN_NOT_SUSPENDABLE);
        assert!(
            error.message().contains("TurnInput::conversation"),
            "{error}"
        );
        assert_eq!(turn.activity(), TurnActivity::Working);
        turn.cancel().unwrap();
        assert!(!turn.await.is_suspended());
    });
}

#[test]
fn a_turn_can_be_suspended_by_its_input_only() {
    let world = World::default();
    process().block_on(async {
        let runner = world.paying(&pays()).build().unwrap();
        let outcome = runner.run(go_input().suspend_at_gates()).await;
        assert!(outcome.is_suspended());
    });
}
